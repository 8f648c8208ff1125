import { z } from 'zod';
import { OrganizationId, type Milliseconds } from '../../domain/ids.js';
import { Actor } from '../../domain/events.js';
import { hashOf, newToken, type SessionsDeps } from './sessions.js';

const minute: Milliseconds = 60_000;

/**
 * The purpose of a link. `enter`: the operator signs in. `reset`: the owner of an account chooses a new
 * password.
 */
const Purpose = z.enum(['enter', 'reset']);
export type Purpose = z.infer<typeof Purpose>;

const usableFor: Readonly<Record<Purpose, Milliseconds>> = { enter: 15 * minute, reset: 24 * 60 * minute };

/** The maker of a link for a member, and the organization. */
const Maker = z.object({ actor: Actor, org: OrganizationId });
export type Maker = z.infer<typeof Maker>;

/** `maker`: null for links of the operator. */
const Kept = z.object({ purpose: Purpose, maker: Maker.nullable() });

export interface SignInLink extends Readonly<z.infer<typeof Kept>> {
  /** An account, or `root`. */
  readonly owner: string;
  readonly ends: Milliseconds;
}

/** Makes a link that works once, within its time. The token is kept nowhere. Throws SignInUnavailable. */
export const issueLink = async (
  { signInRecords, clock, entropy }: SessionsDeps,
  purpose: Purpose,
  owner: string,
  maker: Maker | null = null,
): Promise<{ readonly token: string; readonly ends: Milliseconds }> => {
  const token = newToken(entropy);
  const ends = clock.now() + usableFor[purpose];
  await signInRecords.add({ kind: 'link', id: hashOf(token), owner, data: { purpose, maker }, ends });
  return { token, ends };
};

/** Finds a link without using it up; null if it was used, is over, or never was. */
export const findLink = async (
  { signInRecords }: Pick<SessionsDeps, 'signInRecords'>,
  token: string,
): Promise<SignInLink | null> => {
  const found = await signInRecords.find('link', hashOf(token));
  if (found === null || found.ends === null) return null;
  return { ...Kept.parse(found.data), owner: found.owner, ends: found.ends };
};

/**
 * Uses up a link: of several callers, one gets it. Throws SignInUnavailable, and then the link may be gone.
 */
export const takeLink = async (
  deps: Pick<SessionsDeps, 'signInRecords'>,
  token: string,
): Promise<SignInLink | null> => {
  const link = await findLink(deps, token);
  return link !== null && (await deps.signInRecords.remove('link', hashOf(token))) ? link : null;
};
