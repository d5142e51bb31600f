// A handler without capabilities.
freeze(context);
