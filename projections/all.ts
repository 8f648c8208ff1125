import { apiKeys } from './api-keys.js';
import { balances } from './balances.js';
import { cardDays } from './card-days.js';
import { cards } from './cards.js';
import { collectionCards, handwritings } from './catalogue.js';
import { contacts } from './contacts.js';
import { doNotMailList } from './do-not-mail.js';
import { hooks } from './hooks.js';
import { organizations } from './organizations.js';
import { publicEvents } from './public-events.js';
import type { Projection } from './projection.js';

export const allProjections: readonly Projection<unknown>[] = [
  cards,
  cardDays,
  publicEvents,
  balances,
  organizations,
  apiKeys,
  handwritings,
  collectionCards,
  contacts,
  hooks,
  doNotMailList,
];
