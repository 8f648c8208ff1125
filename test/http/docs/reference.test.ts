import { expect } from 'chai';
import {
  operationsOf,
  readDocument,
  type DocumentedOperation,
  type DocumentedParameter,
} from '../../support/http/document.js';
import { samplesOn } from '../../support/http/docs-samples.js';
import { settableClock } from '../../support/http/http.js';
import { answers, realThings, type RealThings } from '../../support/http/real-things.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../../support/http/receiver.js';
import {
  isInstalled,
  languages,
  notRun,
  runAll,
  untilHeard,
  type Language,
} from '../../support/http/sample-programs.js';
import { aCard, startTestService, type RunningService } from '../../support/http/service.js';
import { sampleOf } from '../../support/runner/effort.js';

const isStream = ({ responses }: DocumentedOperation): boolean => {
  const [type = ''] = Object.keys(responses['200']?.content ?? {});
  return type === 'text/event-stream';
};

/** What is lost for others comes last. */
const destructiveLast = (operations: readonly DocumentedOperation[]): readonly DocumentedOperation[] =>
  operations.toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'));

const succeeds = ({ responses }: DocumentedOperation, status: number): boolean =>
  status >= 200 && status < 300 && String(status) in responses;

describe('the examples of the reference', () => {
  let service: RunningService;
  let receiver: Receiver;
  let operations: readonly DocumentedOperation[];
  /** The samples of each operation in the order of the languages, as the pages show them. */
  const shown = new Map<string, readonly string[]>();

  const pageOf = async (path: string): Promise<string> => (await service.anonymous(path)).text;

  before(async function () {
    this.timeout(60_000);
    // The examples speak of March 2026.
    const clock = settableClock('2026-02-20T15:00:00.000Z');
    service = await startTestService(receiverSettings, clock, [authority.cert]);
    receiver = await startReceiver(answers);
    operations = destructiveLast(operationsOf(await readDocument(service.baseUrl)));
    const contents = (await pageOf('/docs')) + (await pageOf('/docs/operator'));
    for (const path of new Set(contents.match(/(?<=")\/docs\/(reference|operator)\/[\w-]+(?=")/g)))
      for (const [section, id = ''] of (await pageOf(path)).matchAll(/<section id="(\w+)"[^]*?<\/section>/g))
        shown.set(
          id,
          samplesOn(section).map(({ text }) => text),
        );
  });
  after(async () => {
    await receiver.close();
    await service.stop();
  });

  const samplesIn = async (
    language: Language,
    wanted: readonly DocumentedOperation[],
    things: RealThings,
  ): Promise<ReadonlyMap<string, string>> => {
    const samples = new Map<string, string>();
    for (const { operationId } of wanted) {
      const sample = shown.get(operationId)?.[languages.indexOf(language)];
      if (sample === undefined) throw new Error(`${operationId} has no sample in ${language}`);
      samples.set(operationId, await things.in(operationId, sample));
    }
    return samples;
  };

  const credentialsOf = ({ tenant }: RealThings) => ({
    API_KEY: tenant.key,
    OPERATOR_TOKEN: service.operatorToken,
  });

  for (const language of sampleOf(languages, 1)) {
    (isInstalled(language) ? it : it.skip)(`work as samples in ${language}`, async function () {
      this.timeout(120_000);
      const things = await realThings(service, receiver);
      const wanted = operations.filter((operation) => !isStream(operation));
      const samples = await samplesIn(language, wanted, things);
      const results = await runAll(language, samples, credentialsOf(things));
      const failed = wanted.flatMap((operation) => {
        const { status, output } = results.get(operation.operationId) ?? notRun;
        return succeeds(operation, status) ? [] : [`${operation.operationId}: ${output}`];
      });
      expect(failed.join('\n')).to.equal('');
    });

    (isInstalled(language) ? it : it.skip)(`show what happens as streams in ${language}`, async function () {
      this.timeout(60_000);
      const things = await realThings(service, receiver);
      const samples = await samplesIn(language, operations.filter(isStream), things);
      expect([...samples.keys()]).to.have.members([
        'followEvents',
        'followOrganizationDeliveries',
        'followDeliveries',
      ]);
      await untilHeard(language, samples, credentialsOf(things), async () => {
        await things.tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
      });
    });
  }

  /** The address of a sample, and what it sends. */
  const callOf = async (
    { operationId, method, requestBody }: DocumentedOperation,
    things: RealThings,
  ): Promise<{ readonly url: URL; readonly request: RequestInit }> => {
    const [curl = ''] = shown.get(operationId) ?? [];
    const url = /'(http[^']+)'/.exec(await things.in(operationId, curl))?.[1] ?? '';
    const body = requestBody?.content['application/json']?.example;
    const credential = url.includes('/operator/') ? service.operatorToken : things.tenant.key;
    return {
      url: new URL(url),
      request: {
        method,
        headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: await things.in(operationId, JSON.stringify(body)) }),
      },
    };
  };

  const valuesOf = ({ schema }: DocumentedParameter): readonly unknown[] =>
    schema.examples ?? schema.enum ?? [];

  /** What stands in a call for the example of a parameter: the same with what is there in its place. */
  const realValue = async (
    { operationId }: DocumentedOperation,
    { name }: DocumentedParameter,
    value: unknown,
    { url, request }: Awaited<ReturnType<typeof callOf>>,
    things: RealThings,
  ): Promise<string> => {
    // Positions differ between logs: 0, before the first event, is in each of them.
    if (operationId === 'followEvents' && /^\d+$/u.test(String(value))) return '0';
    if (name !== 'starting_after')
      return (await things.in(operationId, `${name}=${String(value)}`)).slice(name.length + 1);
    const first = new URL(url);
    first.searchParams.set('limit', '1');
    const page = (await (await fetch(first, request)).json()) as { readonly next_cursor: string | null };
    if (page.next_cursor === null) throw new Error(`${operationId}: the list has a single row`);
    return page.next_cursor;
  };

  it('are accepted, each of every parameter', async function () {
    this.timeout(120_000);
    const things = await realThings(service, receiver);
    const refused: string[] = [];
    for (const operation of operations)
      for (const parameter of operation.parameters ?? [])
        for (const value of parameter.in === 'path' ? [] : valuesOf(parameter)) {
          const { operationId } = operation;
          // No delivery is out of attempts here.
          if (operationId === 'listDeadLetters' && parameter.name === 'starting_after') continue;
          const call = await callOf(operation, things);
          const sent = await realValue(operation, parameter, value, call, things);
          const headers = new Headers(call.request.headers);
          // Either a card or an organization is exported.
          if (operationId === 'exportEvents' && parameter.name === 'card') call.url.search = '';
          if (parameter.in === 'query') call.url.searchParams.set(parameter.name, sent);
          else headers.set(parameter.name, sent);
          const response = await fetch(call.url, { ...call.request, headers });
          if (!succeeds(operation, response.status))
            refused.push(`${operationId} ${parameter.name} ${sent}: ${await response.text()}`);
          else await response.body?.cancel();
        }
    expect(refused.join('\n')).to.equal('');
  });
});
