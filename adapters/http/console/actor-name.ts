import { accountOf } from '../../../application/access/people.js';
import type { Streams } from '../../../application/writing/streams.js';
import { apiKey } from '../../../domain/api-key.js';
import type { Actor } from '../../../domain/events.js';
import { hook } from '../../../domain/hook.js';
import { Uuid, type OrganizationId } from '../../../domain/ids.js';
import { house, members, roleOf } from '../../../domain/members.js';
import type { SignedIn } from './visitor.js';

type Deps = { readonly streams: Streams };

type Labelled = { readonly status: string; readonly label?: string | null };

const labelOf = ({ status, label = null }: Labelled): string | null => (status === 'none' ? null : label);

/** `knownTo`: whose people read it; null: operators. */
const memberName = async ({ streams }: Deps, id: Uuid, knownTo: OrganizationId | null): Promise<string> => {
  const found = await accountOf({ streams }, id);
  const isOrWasStaff = found?.organizations.includes(house) === true;
  if (isOrWasStaff && knownTo !== null && roleOf((await streams.load(members, knownTo)).state, id) === null)
    return 'the operator';
  return found?.person?.name ?? 'a former member';
};

const nameOf = async (deps: Deps, { kind, id }: Actor, knownTo: OrganizationId | null): Promise<string> => {
  const { streams } = deps;
  const toOperator = knownTo === null;
  switch (kind) {
    case 'member':
      return id === null ? 'a former member' : memberName(deps, Uuid.parse(id), knownTo);
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
 * Finds the names of actors, each once, for a visitor of an organization. Only operators see which of them,
 * or of their keys, it was.
 */
export const actorNames = (
  deps: Deps,
  visitor: SignedIn,
  org: OrganizationId,
): ((actor: Actor) => Promise<string>) => {
  const knownTo = visitor.kind === 'operator' ? null : org;
  const known = new Map<string, Promise<string>>();
  return (actor) => {
    const key = `${actor.kind} ${actor.id}`;
    const name = known.get(key) ?? nameOf(deps, actor, knownTo);
    known.set(key, name);
    return name;
  };
};
