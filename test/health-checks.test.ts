import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createContext, runInContext } from 'node:vm';
import { healthCheckOf } from './support/fixtures/health-checks.js';

/** The code with which a check ends that asks a server of this machine, which answers with this status. */
const endOf = async (
  service: string,
  port: string,
  path: string,
  status: number | null,
): Promise<unknown> => {
  const [program, ...args] = healthCheckOf(service);
  const server = createServer(({ url }, response) =>
    response.writeHead(url === path ? (status ?? 500) : 404).end(),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = String((server.address() as AddressInfo).port);
  if (status === null) server.close();
  const command = args.map((arg) => arg.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${own}`));
  const code = await new Promise((done) =>
    execFile(program, command, (error) => done(error === null ? 0 : error.code)),
  );
  server.close();
  return code;
};

/** What the check does to a MongoDB in this state. */
const mongosh = (state: { readonly status?: string; readonly isPrimary: boolean }) => {
  const [program, ...args] = healthCheckOf('mongodb');
  expect([program, ...args.slice(0, -1)]).to.deep.equal(['mongosh', '--quiet', '--eval']);
  const did: unknown[] = [];
  const context = createContext({
    rs: {
      status: () => {
        if (state.status !== undefined)
          throw Object.assign(new Error(state.status), { codeName: state.status });
      },
      initiate: (wanted: unknown) => did.push(structuredClone(wanted)),
    },
    db: { hello: () => ({ isWritablePrimary: state.isPrimary }) },
    quit: (code: number) => did.push(code),
  });
  runInContext(args.at(-1) ?? '', context);
  return did;
};

describe('health checks of docker-compose.yml', () => {
  for (const [service, port, path] of [
    ['api', '8080', '/healthz'],
    ['eventstoredb', '2113', '/health/live'],
  ] as const)
    it(`that ask ${service} succeed if it says that it is well, and only then`, async () => {
      expect(await endOf(service, port, path, 200)).to.equal(0);
      for (const status of [503, null])
        expect(await endOf(service, port, path, status))
          .to.be.a('number')
          .above(0);
    }).timeout(20_000);

  it('that ask mongodb begin its replica set once, and succeed if it takes writes', () => {
    const set = { _id: 'cards', members: [{ _id: 0, host: 'mongodb:27017' }] };
    expect(mongosh({ status: 'NotYetInitialized', isPrimary: false })).to.deep.equal([set, 1]);
    expect(mongosh({ isPrimary: false })).to.deep.equal([1]);
    expect(mongosh({ isPrimary: true })).to.deep.equal([]);
    expect(() => mongosh({ status: 'Unauthorized', isPrimary: true })).to.throw('Unauthorized');
  });
});
