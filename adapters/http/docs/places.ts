export interface Place {
  readonly path: string;
  readonly title: string;
  /** A summary, in a sentence. */
  readonly about: string;
}

/** The guides in the order in which they are read, by the last word of their paths. */
const guides = {
  'quick-start': {
    title: 'Quick start',
    about: 'From nothing to a first card, a contact, a hook and a webhook, in a quarter of an hour.',
  },
  authentication: {
    title: 'Authentication',
    about: 'Keys and their scopes, and what a refused key looks like.',
  },
  idempotency: {
    title: 'Idempotency and retries',
    about: 'How to send a card once, whatever happens: when to retry, and with which key.',
  },
  cards: {
    title: 'Cards and their life',
    about: 'When a card arrives, the states it goes through, and why some wait for a person.',
  },
  contacts: { title: 'Contacts', about: 'An address book under your own ids.' },
  hooks: { title: 'Inbound hooks', about: 'Cards from a form, a shop or an automation tool, without a key.' },
  webhooks: {
    title: 'Webhooks and signatures',
    about: 'Get notified when a card changes state, and verify that the notification is genuine.',
  },
  feeds: { title: 'Events and feeds', about: 'Poll or follow events instead of receiving webhooks.' },
  lists: {
    title: 'Pagination and limits',
    about: 'Pages of lists, rate limits, and how large things may be.',
  },
  clients: {
    title: 'A client in your language',
    about: 'Generate a client for TypeScript, Python, Go, Java, Ruby, PHP or C#, and send a card with it.',
  },
  testing: {
    title: 'Testing on your machine',
    about: 'A service of your own is your sandbox: it mails nothing.',
  },
  changelog: { title: 'Versions and changelog', about: 'What a version promises, and what has changed.' },
} as const;

export type GuideName = keyof typeof guides;

export const guideNames = Object.keys(guides) as readonly GuideName[];

export const guidePlace = (name: GuideName): Place => ({ path: `/docs/${name}`, ...guides[name] });

export const homePlace: Place = {
  path: '/docs',
  title: 'Documentation',
  about: 'Send handwritten cards with one request.',
};

export const errorsPlace: Place = {
  path: '/docs/errors',
  title: 'Errors',
  about: 'Every code: what it means, whether anything was charged, and whether to try again.',
};

export const eventsPlace: Place = {
  path: '/docs/events',
  title: 'Event types',
  about: 'What webhooks and feeds tell, field by field.',
};

/** Where a page is read as Markdown. */
export const asMarkdown = (path: string): string => `${path}.md`;

export const searchPath = '/docs/search';
export const indexPath = '/docs/search.json';
/** Names every page to programs that read. */
export const listPaths: readonly string[] = ['/llms.txt', '/docs/llms.txt'];

export const operatorPlace: Place = {
  path: '/docs/operator',
  title: 'For operators',
  about: 'For the people who run the service: their API, and every event that it records.',
};

export const recordedPlace: Place = {
  path: '/docs/operator/recorded-events',
  title: 'Recorded events',
  about: 'Every domain event, field by field, as RabbitMQ and the feed of the log deliver it.',
};
