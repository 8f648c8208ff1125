import { apiKey, issueKey, keyIdOf, scopes, secretFrom } from '../domain/api-key.js';
import { firstHandwritings } from '../domain/catalogue.js';
import { ledger } from '../domain/credits.js';
import { derivedUuid, OrganizationId, Uuid } from '../domain/ids.js';
import { createOrganization, organization, saveDesign } from '../domain/organization.js';
import type { AdministrationDeps } from './administer.js';
import { newCommand } from './commands.js';
import { purchaseBy } from './ledgers.js';
import { noStream } from './ports/event-store.js';

const org = OrganizationId.parse(derivedUuid('demo organization'));
const demoCredits = 1_000;

/**
 * Makes the demo organization, once per event store: credits, a saved design and a key with every scope.
 * Returns the key's secret, which is not stored; null if the organization exists. On stores that write one
 * stream at a time the organization comes last, so that an interrupted run can be repeated.
 */
export const makeDemo = async (deps: AdministrationDeps): Promise<{ readonly secret: string } | null> => {
  const { store, streams, entropy, readYourWrites } = deps;
  const owner = await streams.load(organization, org);
  if (owner.state.status !== 'none') return null;
  const command = newCommand(deps, { actor: { kind: 'system', id: 'demo' }, requestId: null }, org);
  const secret = secretFrom(entropy.bytes(32));
  const key = await streams.load(apiKey, keyIdOf(secret));
  const account = await streams.load(ledger, org);
  const issued = issueKey({ org, label: 'Demo', scopes, requestsPerMinute: null })(key.state);
  const bought = purchaseBy(command, org, demoCredits, 'demo');
  const opened = createOrganization('Demo', firstHandwritings[0])(owner.state);
  const saved = saveDesign({ id: Uuid.parse(entropy.uuid()), name: 'Thank You', slug: null })(
    opened.reduce(organization.evolve, owner.state),
  );
  const decided = <Event>(event: Event) => ({ event, command });
  const writes = [
    streams.write(apiKey, key, issued.map(decided)),
    ...(account.revision === noStream
      ? [streams.write(ledger, account, [{ event: bought.decide(account.state), command, id: bought.id }])]
      : []),
    streams.write(organization, owner, [...opened, ...saved].map(decided)),
  ];
  const last = (await store.append(writes)).at(-1);
  if (last?.kind !== 'appended') return null;
  await readYourWrites.afterWrite(last.position);
  return { secret };
};
