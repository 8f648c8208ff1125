import { account, joinOrganization } from '../../domain/account.js';
import { apiKey, issueKey, keyIdOf, scopes, secretFrom } from '../../domain/api-key.js';
import { firstHandwritings } from '../../domain/catalogue.js';
import { ledger, purchaseBy } from '../../domain/credits.js';
import type { Command } from '../../domain/events.js';
import { derivedUuid, Instant, OrganizationId, Uuid } from '../../domain/ids.js';
import { acceptInvitation, invitationIdOf, invite, members, roleOf } from '../../domain/members.js';
import { createOrganization, organization, saveDesign } from '../../domain/organization.js';
import type { AdministrationDeps } from './administer.js';
import { newCommand, service, execute } from '../writing/execute.js';
import { roleIn } from '../access/roles.js';
import { noStream } from '../ports/event-store.js';
import { newToken } from '../access/sessions.js';

const org = OrganizationId.parse(derivedUuid('demo organization'));
const demoCredits = 1_000;

const owner = { name: 'Owner of Demo', email: 'owner@demo.invalid' };

/** The owner of the demo organization: an account without a password, which the operator's link can open. */
export const demoOwner = derivedUuid('account', 'demo');

/** The owner of the demo organization; null if there is none. */
export const findDemoOwner = async (deps: Pick<AdministrationDeps, 'streams'>): Promise<Uuid | null> =>
  (await roleIn(deps, org, demoOwner)) === null ? null : demoOwner;

/**
 * Makes the demo organization, once per event store: credits, a saved design and a key with every scope.
 * Returns the key's secret, which is not stored; null if the organization exists. On stores that write one
 * stream at a time the organization comes last, so that an interrupted run can be repeated.
 */
export const makeDemo = async (deps: AdministrationDeps): Promise<{ readonly secret: string } | null> => {
  const { store, streams, entropy, readYourWrites } = deps;
  const at = await streams.load(organization, org);
  if (at.state.status !== 'none') return null;
  const command = newCommand(deps, service('demo'), org);
  const secret = secretFrom(entropy.bytes(32));
  const key = await streams.load(apiKey, keyIdOf(secret));
  const account = await streams.load(ledger, org);
  const issued = issueKey({ org, label: 'Demo', scopes: [...scopes], requestsPerMinute: null })(key.state);
  const bought = purchaseBy(command, org, demoCredits, 'demo');
  const opened = createOrganization('Demo', firstHandwritings[0])(at.state);
  const saved = saveDesign({ id: Uuid.parse(entropy.uuid()), name: 'Thank You', slug: null })(
    opened.reduce(organization.evolve, at.state),
  );
  const decided = <Event>(event: Event) => ({ event, command });
  const writes = [
    streams.write(apiKey, key, issued.map(decided)),
    ...(account.revision === noStream
      ? [streams.write(ledger, account, [{ event: bought.decide(account.state), command, id: bought.id }])]
      : []),
    streams.write(organization, at, [...opened, ...saved].map(decided)),
  ];
  await makeOwner(deps, command);
  const last = (await store.append(writes)).at(-1);
  if (last?.kind !== 'appended') return null;
  await readYourWrites.afterWrite(last.position);
  return { secret };
};

/** Makes the owner: invited and joined at once, by a token that is never shown. A repeat makes nothing. */
const makeOwner = async (deps: AdministrationDeps, command: Command): Promise<void> => {
  const invitation = invitationIdOf(newToken(deps.entropy));
  const expires = Instant.parse(new Date(deps.clock.now() + 60_000).toISOString());
  const invited = { org, role: 'owner', invitation, expires, ...owner } as const;
  await execute(deps, account, demoOwner, { ...command, org: null }, joinOrganization(owner, org));
  await execute(deps, members, org, command, (state) => {
    if (roleOf(state, demoOwner) !== null) return [];
    const first = invite(invited)(state);
    const after = first.reduce(members.evolve, state);
    return [...first, ...acceptInvitation(invitation, demoOwner, command.at)(after)];
  });
};
