import { apiKey, issueKey, keyIdOf, scopes, secretFrom } from '../domain/api-key.js';
import { firstHandwritings } from '../domain/catalogue.js';
import { ledger, movementId, purchase } from '../domain/credits.js';
import { derivedUuid, OrganizationId, Uuid } from '../domain/ids.js';
import { createOrganization, organization, saveDesign } from '../domain/organization.js';
import type { AdministrationDeps } from './administer.js';
import { newCommand } from './commands.js';

const org = OrganizationId.parse(derivedUuid('demo organization'));
const demoCredits = 1_000;

/**
 * Makes the demo organization, once per event store: credits, a saved design and a key with every scope. The
 * key's secret is told this once; null: the organization is there already. The organization itself is written
 * last, or with the rest. (operations.md, Commands)
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
  const bought = account.revision === -1 ? [purchase(command.id, demoCredits, 'demo')(account.state)] : [];
  const opened = createOrganization('Demo', firstHandwritings[0])(owner.state);
  const saved = saveDesign({ id: Uuid.parse(entropy.uuid()), name: 'Thank You', slug: null })(
    opened.reduce(organization.evolve, owner.state),
  );
  const by = <Event>(event: Event) => ({ event, command });
  const writes = [
    streams.write(apiKey, key, issued.map(by)),
    ...(bought.length === 0
      ? []
      : [
          streams.write(
            ledger,
            account,
            bought.map((event) => ({ ...by(event), id: movementId(org, 'CreditsPurchased', command.id) })),
          ),
        ]),
    streams.write(organization, owner, [...opened, ...saved].map(by)),
  ];
  const last = (await store.append(writes)).at(-1);
  if (last?.kind !== 'appended') return null;
  await readYourWrites.afterWrite(last.position);
  return { secret };
};
