import { isFor } from '../server/access.js';
import type { Route } from '../server/route.js';
import * as places from './places.js';
import type { Place } from './places.js';

/** Operations of one page of the reference. */
export interface Group extends Place {
  readonly routes: readonly Route[];
}

/** The pages of the reference, for customers and for operators. */
export interface Groups {
  readonly customers: readonly Group[];
  readonly operators: readonly Group[];
}

interface Titled {
  readonly title: string;
  readonly about: string;
}

/** Groups of customers' operations, by the word after `/api/v1/`; words of one group share its entry. */
const customers: Readonly<Record<string, Titled>> = {
  cards: { title: 'Cards', about: 'Send a card, look cards up, cancel one, see one before it is written.' },
  contacts: { title: 'Contacts', about: 'The address book.' },
  hooks: { title: 'Hooks', about: 'Send a card through a URL whose token is its credential.' },
  webhooks: { title: 'Webhooks', about: 'Register endpoints that are told about your cards.' },
  deliveries: { title: 'Deliveries', about: 'What was sent to your endpoints, and what they answered.' },
  events: { title: 'Events', about: 'What happened to your cards, for those who would rather ask.' },
  account: { title: 'Account', about: 'Your key, credits, designs and handwritings.' },
  log: { title: 'The log', about: 'Its signed head, and the keys to check it with.' },
  health: { title: 'Health', about: 'For load balancers and monitoring.' },
};

/** Groups of operators' operations, by the word after `/operator/v1/`, or after the organization. */
const operators: Readonly<Record<string, Titled>> = {
  organizations: { title: 'Organizations', about: 'Who uses the service, and with which designs.' },
  credits: { title: 'Credits', about: 'Balances, purchases, movements, and whether they add up.' },
  keys: { title: 'Keys', about: 'Keys of organizations and of the people who run the service.' },
  members: { title: 'People', about: 'Who may enter the console.' },
  cards: { title: 'Production', about: 'Cards of all organizations, and the steps in which they are made.' },
  contacts: { title: 'Personal data', about: 'Contacts of an organization; finding and erasing people.' },
  hooks: { title: 'Hooks', about: 'Inbound hooks of an organization.' },
  webhooks: { title: 'Webhooks', about: 'Endpoints and deliveries of an organization.' },
  catalogue: { title: 'Catalogue', about: 'The public collection and the handwritings on offer.' },
  log: { title: 'The log', about: 'Events, proofs, exports, requests and read models.' },
  health: { title: 'Health', about: 'For load balancers and monitoring.' },
};

type Words = Readonly<Record<string, readonly string[]>>;

/** The other words of a group. */
const customersWords: Words = {
  cards: ['previews'],
  account: ['credits', 'designs', 'collection', 'handwriting'],
};

const operatorsWords: Words = {
  organizations: ['designs', 'do-not-mail'],
  credits: ['reconciliation'],
  members: ['console-links'],
  contacts: ['erasures', 'subjects'],
  webhooks: ['deliveries'],
  catalogue: ['collection', 'handwriting'],
  log: ['events', 'anchor', 'checkpoint', 'key', 'exports', 'projections', 'requests'],
};

/** The word of a path that names its subject. */
const subjectOf = (path: string): string => {
  const [word = '', ...rest] = path.replace(/^\/(api\/v1|v1|operator\/v1|log)\//, '').split('/');
  return (word === 'organizations' ? rest[1] : undefined) ?? word;
};

const groupOf = (route: Route): string => {
  if (route.tags.includes('health')) return 'health';
  const subject = subjectOf(route.path);
  const words = /^\/(api\/)?v1\//.test(route.path) ? customersWords : operatorsWords;
  return Object.keys(words).find((name) => words[name]?.includes(subject)) ?? subject;
};

/** `test/http/docs/pages.test.ts` fails if a route has no title. */
const grouped = (routes: readonly Route[], titles: Readonly<Record<string, Titled>>, below: string) =>
  Object.entries(titles)
    .map(([name, titled]): Group => ({
      ...titled,
      path: `${below}/${name}`,
      routes: routes.filter((route) => groupOf(route) === name),
    }))
    .filter((group) => group.routes.length > 0);

/** Public operations, such as `/healthz`, are among the customers' if this listener serves any of those. */
export const groupsOf = (routes: readonly Route[]): Groups => {
  const shown = routes.filter(({ hidden }) => !hidden);
  const hasCustomers = shown.some(({ access }) => access.kind === 'key' || access.kind === 'hook');
  const isOperators = (route: Route): boolean => !hasCustomers || !isFor('public')(route);
  return {
    customers: grouped(
      shown.filter((route) => !isOperators(route)),
      customers,
      '/docs/reference',
    ),
    operators: grouped(shown.filter(isOperators), operators, '/docs/operator'),
  };
};

/** The pages for a kind of readers, in the order in which they are read. */
export const orderOf = (groups: Groups, kind: keyof Groups): readonly Place[] =>
  kind === 'customers'
    ? [
        places.homePlace,
        ...places.guideNames.map(places.guidePlace),
        ...groups.customers,
        places.errorsPlace,
        places.eventsPlace,
      ]
    : [
        places.operatorPlace,
        ...groups.operators,
        places.recordedPlace,
        ...(groups.customers.length === 0 ? [places.errorsPlace] : []),
      ];
