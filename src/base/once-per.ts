/**
 * What is derived from an object that never changes, such as a plan, is derived once and lives as long as the object.
 * Invariant: `derive` is pure; what is given out is shared, and never changed.
 */
export function oncePer<Key extends object, Derived>(
  derive: (key: Key) => Derived,
): (key: Key) => Derived {
  const known = new WeakMap<Key, { readonly derived: Derived }>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found.derived;
    const derived = derive(key);
    known.set(key, { derived });
    return derived;
  };
}

/** The same of two objects together. */
export function oncePerPair<First extends object, Second extends object, Derived>(
  derive: (first: First, second: Second) => Derived,
): (first: First, second: Second) => Derived {
  const bySecond = oncePer((first: First) => oncePer((second: Second) => derive(first, second)));
  return (first, second) => bySecond(first)(second);
}
