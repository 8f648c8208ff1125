import type { ConsoleDeps } from './deps.js';
import { startRoute } from './start.js';
import { pageRoutes } from './answer.js';
import type { Route } from '../route.js';
import { cardPage } from './pages/card.js';
import { cardsPage } from './pages/cards.js';
import { choosePage } from './pages/choose.js';
import { deliveriesPage } from './pages/deliveries.js';
import { deliveryPage } from './pages/delivery.js';
import { endpointPage } from './pages/endpoint.js';
import { enterPage } from './pages/enter.js';
import { homePage } from './pages/home.js';
import { hookPage } from './pages/hook.js';
import { hooksPage } from './pages/hooks.js';
import { joinPage } from './pages/join.js';
import { keysPage } from './pages/keys.js';
import { mePage } from './pages/me.js';
import { resetPage } from './pages/reset.js';
import { signInPage } from './pages/sign-in.js';
import { startPage } from './pages/start.js';
import { webhooksPage } from './pages/webhooks.js';

/** Every page. The order matters where a parameter could stand for a word: words come first. */
export const pages = [
  startPage,
  signInPage,
  enterPage,
  joinPage,
  resetPage,
  choosePage,
  mePage,
  homePage,
  cardsPage,
  keysPage,
  hooksPage,
  hookPage,
  webhooksPage,
  endpointPage,
  deliveriesPage,
  deliveryPage,
  cardPage,
] as const;

export const consoleRoutes = (deps: ConsoleDeps): readonly Route[] => [
  ...startRoute(deps),
  ...pageRoutes(deps, pages),
];
