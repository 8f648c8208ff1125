import { accountRoutes } from '../../../adapters/http/api/account.js';
import { cardRoutes } from '../../../adapters/http/api/cards.js';
import { contactRoutes } from '../../../adapters/http/api/contacts.js';
import { movementRoutes } from '../../../adapters/http/api/credit-movements.js';
import { erasureRoutes } from '../../../adapters/http/operator/erasures.js';
import { eventRoutes } from '../../../adapters/http/api/events.js';
import { hookRoutes } from '../../../adapters/http/api/hooks.js';
import { operatorHookRoutes } from '../../../adapters/http/operator/hooks.js';
import { creditRoutes, reconciliationRoutes } from '../../../adapters/http/operator/credits.js';
import { organizationRoutes } from '../../../adapters/http/operator/organizations.js';
import { operatorCardRoutes } from '../../../adapters/http/operator/cards.js';
import { keyRoutes, operatorKeyRoutes } from '../../../adapters/http/operator/keys.js';
import { exportRoutes, logRoutes } from '../../../adapters/http/operator/signed-log.js';
import { operatorLogRoutes } from '../../../adapters/http/operator/log.js';
import { operatorRequestRoutes } from '../../../adapters/http/operator/requests.js';
import { peopleRoutes } from '../../../adapters/http/operator/people.js';
import { operatorWebhookRoutes } from '../../../adapters/http/operator/webhooks.js';
import { catalogueRoutes } from '../../../adapters/http/operator/catalogue.js';
import { customerRoutes, operatorContactRoutes } from '../../../adapters/http/operator/customers.js';
import { previewRoutes } from '../../../adapters/http/api/previews.js';
import { webhookRoutes } from '../../../adapters/http/api/webhooks.js';
import { exampleOf } from '../../../adapters/http/document/samples.js';
import type { JsonSchema } from '../../../adapters/http/schema/json-schema.js';
import type { Route } from '../../../adapters/http/server/route.js';

const nothing = {} as never;
/** The operations of the document; none of them can be performed, as they have nothing to do it with. */
export const routes: readonly Route[] = [
  accountRoutes, cardRoutes, contactRoutes, creditRoutes, erasureRoutes, eventRoutes, exportRoutes, hookRoutes, logRoutes, movementRoutes, organizationRoutes, operatorCardRoutes, operatorContactRoutes,
  operatorHookRoutes, operatorKeyRoutes, keyRoutes, operatorLogRoutes, operatorRequestRoutes, catalogueRoutes, customerRoutes, operatorWebhookRoutes, peopleRoutes, previewRoutes, reconciliationRoutes, webhookRoutes,
].flatMap((table) => table(nothing)).filter(({ hidden }) => !hidden); // prettier-ignore

/** What a reader of the documentation would send, with every text filled in. */
export const exampleFor = (schema: JsonSchema): Record<string, unknown> => {
  const example = exampleOf(schema) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(example).map(([name, value]) => [name, value === '' ? 'x' : value]),
  );
};
