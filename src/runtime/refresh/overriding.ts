/** The same object with some members of its own. */
export function overriding<Target extends object>(target: Target, own: Partial<Target>): Target {
  return new Proxy(target, {
    get: (inner, name) => {
      const override: unknown = Reflect.get(own, name);
      if (override !== undefined) return override;
      const member: unknown = Reflect.get(inner, name, inner);
      return typeof member === 'function' ? member.bind(inner) : member;
    },
  });
}
