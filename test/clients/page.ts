import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deliveryHeaders, type SigningSecret } from '../../domain/webhook-signing.js';
import { isPlainObject } from '../../domain/plain-object.js';
import { startProgram } from '../support/examples/examples.js';
import { aCard, startTestService } from '../support/http/service.js';

/** What the page has a reader type, and the program that it has them save before. */
export interface Listing {
  /** The name of the program's file, or the heading of commands without a program. */
  readonly name: string;
  readonly commands: readonly string[];
  readonly program: string | null;
}

/** Everything in frames on the page, in its form as Markdown. */
export const listingsOn = (markdown: string): readonly Listing[] =>
  markdown
    .split(/^## /m)
    .slice(1)
    .flatMap((part) => {
      const [heading = ''] = part.split('\n');
      const found: Listing[] = [];
      for (const [, title, language, text = ''] of part.matchAll(
        /(?:\*\*([^*\n]+)\*\*\n\n)?```(\w+)\n([^]*?)\n```/g,
      ))
        if (language === 'sh') found.push({ name: heading, commands: text.split('\n'), program: null });
        else found.push({ commands: [], ...found.pop(), name: String(title), program: `${text}\n` });
      return found;
    });

/**
 * Passes requests on to a service, and adds a field to every object that comes back. Its OpenAPI document
 * names this address.
 */
const startNewerService = async (target: string) => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => void pass(Buffer.concat(chunks)));
    const pass = async (body: Buffer): Promise<void> => {
      const { method = '', url = '', headers } = request;
      const kept = ['authorization', 'content-type', 'idempotency-key'];
      const sent = kept.flatMap((name) =>
        headers[name] === undefined ? [] : [[name, String(headers[name])]],
      );
      const answer = await fetch(`${target}${url}`, {
        method,
        headers: Object.fromEntries(sent) as Record<string, string>,
        ...(body.length > 0 && { body: body.toString() }),
      });
      const text = await answer.text();
      const given = url.endsWith('openapi.json')
        ? text.replaceAll(target, ownUrl)
        : JSON.stringify(
            JSON.parse(text, (_, value: unknown) =>
              isPlainObject(value) ? { ...value, added_later: { by: 'a newer release' } } : value,
            ),
          );
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(given);
    };
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const ownUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: ownUrl, close: () => server.close() };
};

const inherited = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
);

/** What the clients of registries say where they reach none. */
const unreachable =
  /E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT)|could not (transfer|resolve)|UnknownHost|no such host|dial tcp|i\/o timeout|from versions: none|max retries|connection (refused|reset|timed out)|unable to (connect|download)|could not be (downloaded|fully loaded)|curl error \d+ while downloading/i;

const secret = 'whsec_c2VjcmV0' as SigningSecret;
/** The header of a delivery that was signed some seconds ago, and with another secret too. */
const signatureOf = (body: string, secondsAgo: number): string =>
  deliveryHeaders({
    delivery: 'dlv_1',
    type: 'card.mailed',
    body,
    secrets: ['whsec_bmV3' as SigningSecret, secret],
    at: Date.now() - secondsAgo * 1000,
  })['service-signature'] ?? '';

/** Cards that are there before: with the one that a program sends, its list has two pages. */
const cardsBefore = 50;

const wanted = (what: string, said: string, pattern: RegExp): void => {
  if (!pattern.test(said)) throw new Error(`${what}: ${said}`);
};

/** A service with its page about clients, and empty folders in which the listings are typed. */
export const startPage = async () => {
  const service = await startTestService();
  const newer = await startNewerService(service.baseUrl);
  const page = await fetch(`${service.baseUrl}/docs/clients.md`);
  const listings = listingsOn((await page.text()).replaceAll(service.baseUrl, newer.url));
  const root = mkdtempSync(join(tmpdir(), 'card-clients-'));

  const typed = async (folder: string, command: string, settings: Readonly<Record<string, string>> = {}) => {
    const running = startProgram('sh', ['-c', `cd '${folder}' && ${command}`], { ...inherited, ...settings });
    return { code: await running.ended, said: running.output() };
  };

  const checkSend = async (folder: string, command: string, { name }: Listing): Promise<void> => {
    const [tenant, poor] = [await service.tenant(), await service.tenant({ credits: 0 })];
    for (let card = 0; card < cardsBefore; card++) await tenant.api('/api/v1/cards', { body: aCard() });
    const run = async (key: string) => (await typed(folder, command, { API_KEY: key })).said;
    const sent = await run(tenant.key);
    wanted('a send', sent, /^Sent HC-\w+\n51 cards\n$/);
    if ((await run(tenant.key)) !== sent) throw new Error('The same key sent another card.');
    wanted('a send without credits', await run(poor.key), /^Add credits, and .+\n0 cards\n$/);
    for (const file of [name, name.replace(/ts$/, 'js')].map((each) => join(folder, each)))
      if (existsSync(file))
        writeFileSync(
          file,
          readFileSync(file, 'utf8').replace('order-4711', 'order-4712').replace('62701', '6'),
        );
    wanted('a wrong ZIP code', await run(tenant.key), /^Correct the card: .*ZIP.*\n51 cards\n$/i);
  };

  const checkSignature = async (folder: string, command: string): Promise<void> => {
    const body = '{"name":"Zoë"}';
    const run = async (received: string, signature: string) => {
      writeFileSync(join(folder, 'body.json'), received);
      return (await typed(folder, command, { SECRET: secret, SIGNATURE: signature })).said;
    };
    wanted('a good signature', await run(body, signatureOf(body, 200)), /^true\n$/);
    wanted('another body', await run(`${body} `, signatureOf(body, 0)), /^false\n$/);
    wanted('an old signature', await run(body, signatureOf(body, 400)), /^false\n$/);
    wanted('no signature', await run(body, 'v1=00'), /^false\n$/);
  };

  const jar = /-Dartifact=[\w.]+:([\w-]+):(\S+)/.exec(listings[0]?.commands.join() ?? '');
  const jarFile = `${jar?.[1]}-${jar?.[2]}.jar`;

  const isMissing = (command: string): boolean => {
    const [tool = ''] = command.split(' ');
    return !tool.includes('/') && spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0;
  };

  /** Types a listing. Returns why that was not possible here, and throws what is wrong with it. */
  const skippedFor = async (listing: Listing): Promise<string | null> => {
    const { name, commands, program } = listing;
    const isFirst = listing === listings[0];
    const folder = isFirst ? root : mkdtempSync(join(root, `${name}-`));
    if (!isFirst && existsSync(join(root, jarFile))) symlinkSync(join(root, jarFile), join(folder, jarFile));
    if (program !== null) writeFileSync(join(folder, name), program);
    let unfetched: string | null = null;
    try {
      for (const [index, command] of commands.entries()) {
        if (isMissing(command)) return `there is no ${command.split(' ')[0]}`;
        if (program !== null && index === commands.length - 1)
          await (name.startsWith('verify.') ? checkSignature : checkSend)(folder, command, listing);
        else {
          const { code, said } = await typed(folder, command);
          // What can't be fetched may be there already, from a package of the system.
          if (code !== 0 && unreachable.test(said)) unfetched ??= `\`${command}\` reaches no registry`;
          else if (code !== 0) throw new Error(`${command}: ${said}`);
        }
      }
    } catch (error) {
      if (unfetched === null) throw error;
      return unfetched;
    }
    return program === null ? unfetched : null;
  };

  return {
    listings,
    skippedFor,
    stop: async () => {
      newer.close();
      await service.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
};
