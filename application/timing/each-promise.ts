/** The same port, with `settle` around every promise that its methods return. */
export const eachPromise = <Port extends object>(
  port: Port,
  settle: (promise: Promise<unknown>) => Promise<unknown>,
): Port =>
  new Proxy(port, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, args);
        return result instanceof Promise ? settle(result) : result;
      };
    },
  });
