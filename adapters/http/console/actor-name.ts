import { accountOf } from '../../../application/access/people.js';
import type { Streams } from '../../../application/writing/streams.js';
import { apiKey } from '../../../domain/api-key.js';
import type { Actor } from '../../../domain/events.js';
import { hook } from '../../../domain/hook.js';
import { Uuid } from '../../../domain/ids.js';
import { house } from '../../../domain/members.js';

type Deps = { readonly streams: Streams };

type Labelled = { readonly status: string; readonly label?: string | null };

const labelOf = ({ status, label = null }: Labelled): string | null => (status === 'none' ? null : label);

const nameOf = async ({ streams }: Deps, { kind, id }: Actor, toOperator: boolean): Promise<string> => {
  switch (kind) {
    case 'member': {
      const found = id === null ? null : await accountOf({ streams }, Uuid.parse(id));
      const isOrWasStaff = found?.organizations.includes(house) === true;
      return isOrWasStaff && !toOperator ? 'the operator' : (found?.person?.name ?? 'a former member');
    }
    case 'operator': {
      const isNamed = toOperator && id !== null && id !== 'root';
      return (isNamed ? labelOf((await streams.load(apiKey, id)).state) : null) ?? 'the operator';
    }
    case 'key': {
      const label = id === null ? null : labelOf((await streams.load(apiKey, id)).state);
      return label === null ? 'an API key' : `the key ${label}`;
    }
    case 'hook': {
      const label = id === null ? null : labelOf((await streams.load(hook, id)).state);
      return label === null ? 'a hook' : `the hook ${label}`;
    }
    case 'system':
      return 'the service';
  }
};

/**
 * Finds the names of actors, each once. `toOperator`: only operators see which of them, or of their keys, it
 * was.
 */
export const actorNames = (deps: Deps, toOperator: boolean): ((actor: Actor) => Promise<string>) => {
  const known = new Map<string, Promise<string>>();
  return (actor) => {
    const key = `${actor.kind} ${actor.id}`;
    const name = known.get(key) ?? nameOf(deps, actor, toOperator);
    known.set(key, name);
    return name;
  };
};
