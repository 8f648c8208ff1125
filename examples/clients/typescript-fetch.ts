// $ npm init -y && npm pkg set type=module
// $ npm install typescript@5.9.3 @types/node@20
// $ java -jar openapi-generator-cli-7.17.0.jar generate -i http://127.0.0.1:8080/api/openapi.json -g typescript-fetch -o cards -p importFileExtension=.js
// $ npx tsc --strict --target es2022 --module nodenext typescript-fetch.ts
// $ node typescript-fetch.js
import { CardsApi, Configuration, ResponseError, type CardList } from './cards/index.js';

const api = new CardsApi(new Configuration({ accessToken: process.env.API_KEY }));
const address = { line1: '12 Analytical Way', city: 'Springfield', state: 'IL', zip: '62701' };
const recipient = { name: 'Ada Lovelace', ...address };

try {
  const cardInput = { recipient, message: 'Thank you, Ada!' };
  const sent = await api.sendCard({ cardInput, idempotencyKey: 'order-4711' });
  console.log(`Sent ${sent.id}`);
} catch (refused) {
  if (!(refused instanceof ResponseError)) throw refused;
  const { error } = await refused.response.json();
  if (refused.response.status === 402) console.log('Add credits, and send it again with the same key');
  else if (refused.response.status === 422) console.log(`Correct the card: ${error.message}`);
  else throw refused;
}

let count = 0;
for (let cursor: string | null = ''; cursor !== null;) {
  const page: CardList = await api.listCards({ startingAfter: cursor });
  count += page.data.length;
  cursor = page.nextCursor;
}
console.log(`${count} cards`);
