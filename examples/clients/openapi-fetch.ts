// $ npm init -y && npm pkg set type=module
// $ npm install openapi-fetch@0.17.0 openapi-typescript@7.13.0 typescript@5.9.3 @types/node@20
// $ npx openapi-typescript http://127.0.0.1:8080/api/openapi.json -o cards.ts
// $ npx tsc --strict --target es2022 --module nodenext openapi-fetch.ts
// $ node openapi-fetch.js
import createClient from 'openapi-fetch';
import type { components, paths } from './cards.js';

const headers = { Authorization: `Bearer ${process.env.API_KEY}` };
const api = createClient<paths>({ baseUrl: 'http://127.0.0.1:8080', headers });
const address = { line1: '12 Analytical Way', city: 'Springfield', state: 'IL', zip: '62701' };

const { data, error, response } = await api.POST('/api/v1/cards', {
  params: { header: { 'Idempotency-Key': 'order-4711' } },
  body: { recipient: { name: 'Ada Lovelace', ...address }, message: 'Thank you, Ada!' },
});
if (data) console.log(`Sent ${data.id}`);
else if (response.status === 402) console.log('Add credits, and send it again with the same key');
else if (response.status === 422) console.log(`Correct the card: ${error.error.message}`);
else throw new Error(error.error.code);

let count = 0;
for (let cursor: string | null = ''; cursor !== null;) {
  const query = { starting_after: cursor };
  const page: { data?: components['schemas']['CardList'] } = await api.GET('/api/v1/cards', {
    params: { query },
  });
  if (!page.data) throw new Error('The list could not be read');
  count += page.data.data.length;
  cursor = page.data.next_cursor;
}
console.log(`${count} cards`);
