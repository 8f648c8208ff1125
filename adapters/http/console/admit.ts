import type { z } from 'zod';
import { roleIn } from '../../../application/access/roles.js';
import { DomainError, NamedError, type ErrorCode } from '../../../domain/errors.js';
import { isUuid, OrganizationId, type Brand, type Uuid } from '../../../domain/ids.js';
import { house } from '../../../domain/members.js';
import { may, type Permission, type Role } from '../../../domain/permissions.js';
import { atField } from '../schema/read.js';
import type { Url } from '../web/paths.js';
import type { SignedIn, VisitorDeps } from './visitor.js';

/** An organization to which the visitor was admitted: only `admit` makes one. */
export type AdmittedOrg = Brand<OrganizationId, 'AdmittedOrg'>;

/** The organization, or the house, with the visitor's role in it. */
export interface Admitted {
  readonly org: AdmittedOrg;
  readonly role: Role;
}

/** The organization, or the house, for the frame of a page. */
export interface Here extends Admitted {
  readonly name: string;
}

/** The permission that a page or an action needs; `anyone` needs no sign-in, `signed-in` no role. */
export type Need = Permission | 'signed-in' | 'anyone';

type Deps = Pick<VisitorDeps, 'streams'>;

export class SignInFirst extends NamedError {}

export class RedirectTo extends NamedError {
  constructor(readonly to: Url) {
    super('the page is elsewhere');
  }
}

export class NotAllowed extends NamedError {
  constructor(
    readonly permission: Permission,
    readonly org: AdmittedOrg,
  ) {
    super(`lacks the permission ${permission}`);
  }
}

/** The same for an organization that does not exist, and for one that the visitor does not belong to. */
export const nothingHere = (): DomainError =>
  new DomainError('not_found', 'There is nothing at this address.');

/** Finds something. Whatever `find` refuses is `not_found`, as if there was nothing. */
export const orNothing = async <T>(find: () => Promise<T>): Promise<T> => {
  try {
    return await find();
  } catch (error) {
    throw error instanceof DomainError ? nothingHere() : error;
  }
};

/** Null in place of a refusal with this code. */
export const nullFor =
  (code: ErrorCode) =>
  (error: unknown): null => {
    if (error instanceof DomainError && error.code === code) return null;
    throw error;
  };

/** Gives a refusal the field of the body that it is about, where it names none. */
export const refusedAt =
  (body: z.ZodObject) =>
  (error: unknown): never => {
    throw atField(body, error);
  };

/** Passes on what was found. Throws `not_found` if that is nothing. */
export const existing = <T>(found: T | null): T => {
  if (found === null) throw nothingHere();
  return found;
};

/** The id that a form sent. Throws `not_found` if it is no id. */
export const idFrom = (sent: string): Uuid => {
  if (!isUuid(sent)) throw nothingHere();
  return sent;
};

/** The role of one of the staff; null for all others. */
export const houseRole = (deps: Deps, visitor: SignedIn): Promise<Role | null> =>
  visitor.kind === 'operator' ? Promise.resolve('operator') : roleIn(deps, house, visitor.account);

/**
 * The role of a visitor in an organization: as a member of it, or as one of the staff, who may see all of
 * them. Throws `not_found` for all others.
 */
export const roleAt = async (deps: Deps, visitor: SignedIn, org: string): Promise<Admitted> => {
  const id = OrganizationId.parse(org);
  const own = visitor.kind === 'member' ? await roleIn(deps, id, visitor.account) : null;
  const role = own ?? (await houseRole(deps, visitor));
  if (role === null || (own === null && !may(role, 'cards.read'))) throw nothingHere();
  return { role, org: id as AdmittedOrg };
};

/** The role of one of the staff. Throws `not_found` for all others. */
export const staffRoleOf = async (deps: Deps, visitor: SignedIn): Promise<Admitted> => {
  const role = await houseRole(deps, visitor);
  if (role === null) throw nothingHere();
  return { role, org: house as AdmittedOrg };
};

/** Throws NotAllowed. */
export const assertMay = ({ role, org }: Admitted, need: Need): void => {
  if (need !== 'anyone' && need !== 'signed-in' && !may(role, need)) throw new NotAllowed(need, org);
};
