import { accountOf } from '../../../application/people.js';
import type { Streams } from '../../../application/streams.js';
import { apiKey } from '../../../domain/api-key.js';
import type { Actor } from '../../../domain/events.js';
import { Uuid } from '../../../domain/ids.js';

type Deps = { readonly streams: Streams };

const nameOf = async ({ streams }: Deps, { kind, id }: Actor): Promise<string> => {
  switch (kind) {
    case 'member':
      return (id === null ? null : await accountOf({ streams }, Uuid.parse(id)))?.person?.name ?? 'somebody';
    case 'operator': {
      const key = id === null || id === 'root' ? null : (await streams.load(apiKey, id)).state;
      return key === null || key.status === 'none' || key.label === null ? 'the operator' : key.label;
    }
    case 'key':
      return 'an API key';
    case 'hook':
      return 'a hook';
    case 'system':
      return 'the service';
  }
};

/** Finds the names of those who did something, each once. */
export const actorNames = (deps: Deps): ((actor: Actor) => Promise<string>) => {
  const known = new Map<string, Promise<string>>();
  return (actor) => {
    const key = `${actor.kind} ${actor.id}`;
    const name = known.get(key) ?? nameOf(deps, actor);
    known.set(key, name);
    return name;
  };
};
