// Dates, but no clock.
{
  const { defineProperty } = Object;
  const { construct } = Reflect;
  const TypeErrorOf = TypeError;
  const RealDate = Date;
  // The system looks for its time zone once, in files. That must happen before they are out of reach.
  new RealDate(0).getTimezoneOffset();

  const noClock = () => {
    throw new TypeErrorOf("there is no clock here; list `clock` in the contract and call `context.clock.now()`");
  };
  function FixedDate(...parts) {
    if (new.target === undefined || parts.length === 0) return noClock();
    return construct(RealDate, parts, new.target);
  }
  const set = (on, name, value) => defineProperty(on, name, { value, writable: true, configurable: true });
  defineProperty(FixedDate, "name", { value: "Date" });
  defineProperty(FixedDate, "length", { value: 7 });
  FixedDate.prototype = RealDate.prototype;
  defineProperty(FixedDate, "prototype", { writable: false, enumerable: false });
  set(FixedDate, "now", noClock);
  set(FixedDate, "parse", RealDate.parse);
  set(FixedDate, "UTC", RealDate.UTC);
  set(RealDate.prototype, "constructor", FixedDate);
  set(globalThis, "Date", FixedDate);
}
