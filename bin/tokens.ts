import type { DependencyContainer, InjectionToken } from 'tsyringe';
import { instanceCachingFactory } from 'tsyringe';

/** A name for one thing in the object graph, and its type. */
export const token = <T>(name: string): InjectionToken<T> => Symbol(name);

/** Says how a thing is made, once, when it is first asked for. */
export const provide = <T>(
  container: DependencyContainer,
  name: InjectionToken<T>,
  make: (from: DependencyContainer) => T,
): void => {
  container.register(name, { useFactory: instanceCachingFactory(make) });
};
