// What is random is the same in every attempt of one call.

const TypeErrorOf = TypeError;

// A small generator of good spread.
const seeded = (a, b) => {
  let c = 0x9e3779b9 | 0;
  let counter = 1;
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 12; round += 1) next();
  return () => (next() * 0x200000 + (next() >>> 11)) / 0x20000000000000;
};

// An engine may be made, and its handler loaded, before its calls are known. What is random follows from
// the call; who asks for it sooner is told so, and the engine is not used.
let seeds;
let draw;
let early = false;

Object.defineProperty(Math, "random", {
  value: () => {
    if (draw === undefined) {
      if (seeds === undefined) {
        early = true;
        throw new TypeErrorOf("nothing is random before the call");
      }
      draw = seeded(seeds.high, seeds.low);
    }
    return draw();
  },
  writable: true,
  configurable: true,
});

export const seed = (high, low) => {
  seeds ??= { high, low };
};

export const isEarly = () => early;
