// Sends a card with openapi-fetch, whose types come from the service's OpenAPI document: a field or a path
// that does not exist is a mistake that the compiler finds.
//
//   npm install && API_KEY=hck_… npm start -- order-4711
//
// The argument is the Idempotency-Key: something of yours that names this one card. Run again, the program
// shows the card that was made. Settings: API_KEY, BASE_URL (http://127.0.0.1:8080).
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

type Schemas = components['schemas'];

const { API_KEY, BASE_URL = 'http://127.0.0.1:8080' } = process.env;
const order = process.argv[2];
if (API_KEY === undefined || order === undefined)
  throw new Error('Usage: API_KEY=hck_… npm start -- <Idempotency-Key>');

const api = createClient<paths>({
  baseUrl: BASE_URL,
  // Refuses what the service does not know, rather than ignoring it.
  headers: { Authorization: `Bearer ${API_KEY}`, Prefer: 'handling=strict' },
});

/** What came back, or an exception with the code that says what to do. */
const answerOf = <T>({ data, error }: { data?: T; error?: Schemas['Error'] }): T => {
  if (data !== undefined) return data;
  throw new Error(
    error === undefined
      ? 'The response is no JSON.'
      : `${error.error.code}: ${error.error.message} (${error.error.docs})`,
  );
};

const card: Schemas['CardInput'] = {
  recipient: {
    name: 'Ada Lovelace',
    line1: '12 Analytical Way',
    city: 'Springfield',
    state: 'IL',
    zip: '62701',
  },
  message: 'Thank you for everything, Ada.',
  reference: order,
};

const sent = answerOf(
  await api.POST('/api/v1/cards', { params: { header: { 'Idempotency-Key': order } }, body: card }),
);
console.log(`${sent.id} ${sent.status}: ${sent.note}`);

const { steps, arrives_between: window } = answerOf(
  await api.GET('/api/v1/cards/{card_code}', { params: { path: { card_code: sent.id } } }),
);
console.log(`${steps.length} steps; arrives between ${window.earliest} and ${window.latest}`);

// A list comes in pages: the cursor of one begins the next.
let cards = 0;
for (let cursor: string | null = ''; cursor !== null;) {
  const page: Schemas['CardList'] = answerOf(
    await api.GET('/api/v1/cards', { params: { query: { limit: 200, starting_after: cursor } } }),
  );
  cards += page.data.length;
  cursor = page.next_cursor;
}
console.log(`${cards} ${cards === 1 ? 'card' : 'cards'} in all`);
