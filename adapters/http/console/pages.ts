import { cardPage } from './pages/card.js';
import { cardsPage } from './pages/cards.js';
import { choosePage } from './pages/choose.js';
import { badLinesCsv, contactImportPage } from './pages/contact-import.js';
import { contactPage } from './pages/contact.js';
import { contactsPage } from './pages/contacts.js';
import { creditsCsv, creditsPage } from './pages/credits.js';
import { deliveriesPage } from './pages/deliveries.js';
import { collectionCardPage } from './pages/collection-card.js';
import { collectionPage } from './pages/collection.js';
import { designsPage } from './pages/designs.js';
import { newDesignPage, newFrontPage } from './pages/new-design.js';
import { deliveryPage } from './pages/delivery.js';
import { endpointPage } from './pages/endpoint.js';
import { doNotMailPage } from './pages/do-not-mail.js';
import { enterPage } from './pages/enter.js';
import { homePage } from './pages/home.js';
import { cataloguePage } from './pages/house/catalogue.js';
import { newCollectionCardPage, newCollectionFrontPage } from './pages/house/new-collection-card.js';
import { floorCardPage } from './pages/house/floor-card.js';
import { floorPage } from './pages/house/floor.js';
import { heldPage } from './pages/house/held.js';
import { organizationsPage } from './pages/house/organizations.js';
import { runPage, runSheetsPdf, sheetsPdf } from './pages/house/sheets.js';
import { staffPage } from './pages/house/staff.js';
import { hookPage } from './pages/hook.js';
import { hooksPage } from './pages/hooks.js';
import { importContactsPage } from './pages/import-contacts.js';
import { joinPage } from './pages/join.js';
import { keysPage } from './pages/keys.js';
import { mePage } from './pages/me.js';
import { membersPage } from './pages/members.js';
import { requestsPage } from './pages/requests.js';
import { resetPage } from './pages/reset.js';
import { sendPage } from './pages/send.js';
import { settingsPage } from './pages/settings.js';
import { signInPage } from './pages/sign-in.js';
import { startPage } from './pages/start.js';
import { webhooksPage } from './pages/webhooks.js';

export const pages = [
  startPage,
  signInPage,
  enterPage,
  joinPage,
  resetPage,
  choosePage,
  mePage,
  organizationsPage,
  heldPage,
  floorPage,
  runPage,
  runSheetsPdf,
  floorCardPage,
  sheetsPdf,
  cataloguePage,
  newCollectionCardPage,
  newCollectionFrontPage,
  staffPage,
  homePage,
  cardsPage,
  sendPage,
  contactsPage,
  importContactsPage,
  contactImportPage,
  badLinesCsv,
  contactPage,
  designsPage,
  newDesignPage,
  newFrontPage,
  collectionPage,
  collectionCardPage,
  creditsPage,
  creditsCsv,
  settingsPage,
  doNotMailPage,
  membersPage,
  keysPage,
  hooksPage,
  hookPage,
  webhooksPage,
  endpointPage,
  deliveriesPage,
  deliveryPage,
  requestsPage,
  cardPage,
] as const;
