/** The same port. What its promises reject with is passed through `explain`. */
export const explainingFailures = <Port extends object>(
  port: Port,
  explain: (error: unknown) => unknown,
): Port =>
  new Proxy(port, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, args);
        if (!(result instanceof Promise)) return result;
        return result.catch((error: unknown) => {
          throw explain(error);
        });
      };
    },
  });
