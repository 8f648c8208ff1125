import { expect } from 'chai';
import { runCommandLine } from '../../bin/cli/program.js';
import { readSettings, WrongSettings } from '../../bin/settings/settings.js';
import { clientOf, startTestService, type Client, type RunningService } from '../support/http/service.js';

describe('an operator listener of its own', () => {
  let service: RunningService;
  let open: Client;
  let inside: Client;
  before(async () => {
    service = await startTestService({ OPERATOR_HOST: '127.0.0.1', OPERATOR_PORT: '0' });
    open = clientOf(service.address, service.operatorToken);
    inside = clientOf(service.operatorAddress, service.operatorToken);
  });
  after(() => service.stop());

  const statusOf = async (client: Client, path: string) => (await client(path)).status;

  it('answers the operator API, metrics and readiness, which the public one does not', async () => {
    expect(service.operatorAddress).not.to.equal(service.address);
    for (const path of ['/operator/v1/anchor', '/metrics', '/readyz'])
      expect([path, await statusOf(inside, path), await statusOf(open, path)]).to.deep.equal([
        path,
        200,
        404,
      ]);
  });
  it('leaves the public API to the public one, and both tell that they live', async () => {
    for (const path of ['/api/v1/cards', '/v1/handwriting'])
      expect([path, await statusOf(inside, path), await statusOf(open, path)]).to.deep.equal([
        path,
        404,
        401,
      ]);
    expect([await statusOf(inside, '/healthz'), await statusOf(open, '/healthz')]).to.deep.equal([200, 200]);
  });
  it('documents what it answers, and so does the public one', async () => {
    const paths = async (client: Client) => Object.keys((await client('/openapi.json')).body['paths'] ?? {});
    const [operators, everybodys] = [await paths(inside), await paths(open)];
    expect(operators).to.include('/operator/v1/organizations').and.not.include('/api/v1/cards');
    expect(everybodys).to.include('/api/v1/cards').and.not.include('/operator/v1/organizations');
  });
  it('counts requests of both listeners in one metric', async () => {
    await open('/api/v1/cards');
    await inside('/operator/v1/anchor');
    const { text } = await inside('/metrics');
    for (const route of ['/api/v1/cards', '/operator/v1/anchor'])
      expect(text).to.match(new RegExp(`duration_seconds_count\\{[^}]*route="${route}"`));
  });
  it('is found by the command line', async () => {
    const environment = {
      BASE_URL: service.baseUrl,
      OPERATOR_HOST: '127.0.0.1',
      OPERATOR_PORT: new URL(service.operatorAddress).port,
      DATA_DIR: service.dataDir,
    };
    let out = '';
    const code = await runCommandLine(['anchor', 'show', '--json'], {
      environment,
      write: (text) => void (out += text),
      complain: (text) => void (out += text),
    });
    expect([code, JSON.parse(out)]).to.have.deep.nested.property('[0]', 0);
  });
});

describe('the settings of listeners and of the demo', () => {
  const listener = (environment: Readonly<Record<string, string>>) =>
    readSettings({ DEMO: 'off', ...environment }).operatorListener;

  it('leave the operator on the public listener while only this machine reaches that', () => {
    for (const HOST of ['127.0.0.1', '127.9.9.9', '::1', 'localhost', ''])
      expect(listener({ HOST }), HOST).to.equal(null);
  });
  it('give the operator a listener on this machine alone where others reach the public one', () => {
    for (const HOST of ['0.0.0.0', '::', '192.0.2.7', 'cards.example'])
      expect(listener({ HOST }), HOST).to.deep.equal({ host: '127.0.0.1', port: 8081 });
  });
  it('give the operator the listener that is named', () => {
    expect(listener({ OPERATOR_PORT: '9' })).to.deep.equal({ host: '127.0.0.1', port: 9 });
    expect(listener({ HOST: '0.0.0.0', OPERATOR_HOST: '10.0.0.1' })).to.deep.equal({
      host: '10.0.0.1',
      port: 8081,
    });
    expect(listener({ HOST: '0.0.0.0', PORT: '80', OPERATOR_HOST: '0.0.0.0', OPERATOR_PORT: '80' })).to.equal(
      null,
    );
  });

  const demo = (environment: Readonly<Record<string, string>>): boolean | readonly string[] => {
    try {
      return readSettings(environment).demo;
    } catch (error) {
      if (error instanceof WrongSettings) return error.problems;
      throw error;
    }
  };
  const loopback = 'http://localhost:80';
  const elsewhere = 'https://cards.example';

  it('make a demo by themselves only where nobody but this machine reaches the service', () => {
    expect([demo({}), demo({ BASE_URL: loopback, HOST: '0.0.0.0' })]).to.deep.equal([true, true]);
    for (const environment of [{ BASE_URL: elsewhere }, { HOST: '0.0.0.0' }, { HOST: '192.0.2.7' }])
      expect(demo(environment)).to.equal(false);
  });
  it('refuse a demo on a public address that is not said to be one', () => {
    for (const environment of [{ BASE_URL: elsewhere }, { HOST: '0.0.0.0' }, { BASE_URL: 'http://10.0.0.1' }])
      expect(demo({ ...environment, DEMO: 'on' }))
        .to.have.nested.property('[0]')
        .that.matches(/^DEMO must be off .* must be public$/);
    expect(demo({ BASE_URL: elsewhere, DEMO: 'public' })).to.equal(true);
    for (const BASE_URL of ['http://127.0.0.1:9', 'http://[::1]:9', 'http://cards.localhost', loopback])
      expect(demo({ BASE_URL, DEMO: 'on' }), BASE_URL).to.equal(true);
  });
});
