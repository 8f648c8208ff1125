import type { Guide } from '../page.js';
import type { GuideName } from '../places.js';
import { authentication } from './authentication.js';
import { cards } from './cards.js';
import { changelog } from './changelog.js';
import { clients } from './clients.js';
import { contacts } from './contacts.js';
import { feeds } from './feeds.js';
import { hooks } from './hooks.js';
import { idempotency } from './idempotency.js';
import { lists } from './lists.js';
import { quickStart } from './quick-start.js';
import { testing } from './testing.js';
import { webhooks } from './webhooks.js';

export const guides: Readonly<Record<GuideName, Guide>> = {
  'quick-start': quickStart,
  authentication,
  idempotency,
  cards,
  contacts,
  hooks,
  webhooks,
  feeds,
  lists,
  clients,
  testing,
  changelog,
};
