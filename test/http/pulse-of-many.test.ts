import { expect } from 'chai';
import { exampleOf } from '../../adapters/http/document/samples.js';
import type { JsonSchema } from '../../adapters/http/schema/json-schema.js';
import { formsIn, mayLook, pages, placeOf } from '../support/http/console-pages.js';
import { operationsOf } from '../support/http/document.js';
import { operatorOf, type Visitor } from '../support/http/visitor.js';
import { attacksOn, type Attack, type Attacks } from '../support/pulse/attacks.js';
import { startBeating, type Beating } from '../support/pulse/beating.js';
import { rounds, sampleOf } from '../support/runner/effort.js';
import { isDistributed } from '../support/runner/wiring.js';

const crowding = {
  cards: rounds({ usually: 5_000, thoroughly: 8_000, named: 'TEST_CROWD' }),
  others: rounds({ usually: 500, thoroughly: 800, named: 'TEST_CROWD_OTHERS' }),
};

/** In milliseconds, for which a caller waits: what goes on longer has been seen by then. */
const patience = rounds({ usually: 400, thoroughly: 1_000 });

/** What each of many rows has, or what asks for as many as there are. */
const alike: Readonly<Record<string, string>> = {
  email: 'ada@example.com',
  from: '0',
  limit: '1000',
  name: 'Ada',
  q: 'Ada',
  until: 'head',
  zip: '62701',
};

describe('the pulse of a service that has very many rows', function () {
  this.timeout(900_000);
  let beating: Beating;
  let on: Attacks;
  let operator: Visitor;

  before(async function () {
    // The rows are written many streams at once, as only one process can.
    if (isDistributed()) this.skip();
    beating = await startBeating(crowding);
    on = await attacksOn(beating, patience);
    operator = await operatorOf(beating.lively.service);
  });
  after(() => (isDistributed() ? undefined : beating.lively.stop()));

  const valuesOf = (
    name: string,
    { maximum, examples = [], enum: choices }: JsonSchema,
  ): readonly string[] => {
    const known = alike[name];
    if (known !== undefined) return [known];
    return (maximum === undefined ? (choices ?? examples) : [maximum]).map(String);
  };

  /** For each parameter of an operation a query, now and in the past, with as many rows as there may be. */
  const queriesOf = (path: string): readonly string[] => {
    const parameters = operationsOf(on.document)
      .filter(({ method }) => method === 'GET')
      .filter((each) => each.path.replaceAll(/\{\w+\}/g, ':') === path.replaceAll(/:\w+/g, ':'))
      .flatMap(({ parameters: all = [] }) => all.filter((each) => each.in === 'query'));
    const pairs = parameters.flatMap(({ name, schema }) =>
      valuesOf(name, schema).map((value) => [name, value] as const),
    );
    const most = pairs.filter(([name]) => name === 'limit');
    const past = pairs.filter(([name]) => name === 'at');
    const query = (...parts: typeof pairs) => new URLSearchParams(Object.fromEntries(parts)).toString();
    return [
      ...new Set(['', ...pairs.flatMap((pair) => [query(...most, pair), query(...most, ...past, pair)])]),
    ];
  };

  const visitorOf = (place: Parameters<typeof mayLook>[1]): Visitor =>
    mayLook('owner', place) ? beating.lively.owner : operator;

  const placesOf = async (path: string) => {
    const page = pages.find((each) => each.path === path && each.may !== 'anyone');
    if (page === undefined) return [];
    if (path.includes(':import')) await beating.aMinuteLater();
    return [await placeOf(page, beating.lively)];
  };

  /** A page with its parameters, and as it links to itself. */
  const looksAt = async (path: string): Promise<readonly Attack[]> => {
    const attacks: Attack[] = [];
    for (const place of await placesOf(path)) {
      const { address, page } = place;
      const look = async (query: string): Promise<string> => {
        const { status, text } = await visitorOf(place).get(query === '' ? address : `${address}?${query}`);
        expect([200, 303, 400, 404], address).to.include(status);
        return text;
      };
      const links = [...(await look('')).matchAll(/href="([^"?]*)\?([^"]*)"/g)]
        .filter(([, to]) => to === address || to === '')
        .map(([, , query = '']) => query.replaceAll('&amp;', '&'));
      const queries = new Set(['', ...page.query.map((name) => `${name}=${alike[name] ?? 'Ada'}`), ...links]);
      for (const query of queries) attacks.push({ name: `${path}?${query}`, send: () => look(query) });
    }
    return attacks;
  };

  it('goes on whatever is asked for', async () => {
    const found: string[] = [];
    expect(beating.paths.length).to.be.above(150);
    for (const path of sampleOf(beating.paths, 80, { of: 'many' })) {
      const queries = queriesOf(path).map((search) => ({ name: search, search }));
      const attacks = path.startsWith('/console') ? await looksAt(path) : on.asAttacks('GET', path, queries);
      found.push(...(await on.stopping(attacks)));
    }
    expect(found).to.deep.equal([]);
  });

  it('goes on whatever form is sent', async () => {
    const found: string[] = [];
    for (const path of sampleOf(
      pages.map((page) => page.path),
      20,
      { of: 'forms' },
    ))
      for (const place of await placesOf(path)) {
        const visitor = visitorOf(place);
        const shown = formsIn((await visitor.get(place.address)).text);
        const actions = new Map(shown.map((form) => [`${form.to} ${form.action}`, form]));
        const attacks = [...actions.values()]
          .filter(({ action }) => action !== 'signOut')
          .map(({ action, to, fields }) => ({
            name: `${path} ${action}`,
            send: () => visitor.post(to ?? place.address, fields),
          }));
        found.push(...(await on.stopping(attacks.slice(0, 10))));
      }
    expect(found).to.deep.equal([]);
  });

  it('goes on whatever is changed', async () => {
    const { schemas } = on.document.components;
    const resolve = ({ $ref, ...schema }: JsonSchema): JsonSchema =>
      $ref === undefined ? schema : resolve(schemas[$ref.slice('#/components/schemas/'.length)] ?? {});
    const operations = operationsOf(on.document)
      .filter(({ method, path }) => method !== 'GET' && path !== '/operator/v1/projections/{name}/rebuild')
      .flatMap(({ method, path, requestBody }) => {
        const schema = requestBody?.content['application/json']?.schema;
        if (schema === undefined) return on.asAttacks(method, path, [{ name: 'no body' }]);
        const whole = resolve(schema);
        const body = JSON.stringify(whole.examples?.[0] ?? exampleOf(whole));
        return on.asAttacks(method, path, [{ name: 'its example', body }]);
      });
    const found: string[] = [];
    for (const attack of operations) found.push(...(await on.stopping([attack])));
    expect(found).to.deep.equal([]);
  });
});
