//! The compiler from outside: folders in, diagnostics and registries out.

#[cfg(test)]
mod architecture;
#[cfg(test)]
mod building;
#[cfg(test)]
mod codes;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod lints;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod schema_suite;
#[cfg(test)]
mod studio;
#[cfg(test)]
mod workshop;
