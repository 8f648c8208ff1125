import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { clientsOf, startTestService, type RunningService } from '../../support/http/service.js';
import { memberOf, password, Visitor } from '../../support/http/visitor.js';

const prefix = '/mail';

/** A proxy that shows the service below a path. */
const startProxy = async (
  to: () => string,
): Promise<{ readonly origin: string; readonly server: Server }> => {
  const server = createServer((asked, answered) => {
    const path = asked.url?.startsWith(prefix) === true ? asked.url.slice(prefix.length) : '/not/below';
    const { method, headers } = asked;
    const forwarded = request(`${to()}${path}`, { method, headers }, (response) => {
      answered.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answered);
    });
    asked.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
};

describe('the pages of a service whose base URL has a path', () => {
  let service: RunningService;
  let server: Server;
  let origin: string;
  let org: string;
  let visitor: Visitor;
  before(async () => {
    ({ origin, server } = await startProxy(() => service.address));
    service = await startTestService({ BASE_URL: `${origin}${prefix}` });
    const { tenant, operator } = { ...service, ...clientsOf({ ...service, baseUrl: service.address }) };
    ({ org } = await tenant());
    visitor = await memberOf({ baseUrl: origin, operator }, org, 'owner');
  });
  after(async () => {
    await service.stop();
    server.close();
  });

  it('lead, send their forms and load their files below that path', async () => {
    const home = `${prefix}/console/${org}`;
    const docs = ['', '/reference/cards', '/errors/no_credits', '/search?q=card'].map(
      (at) => `${prefix}/docs${at}`,
    );
    for (const path of [home, `${home}/keys`, ...docs]) {
      const { status, text } = await visitor.get(path);
      expect(status, path).to.equal(200);
      const places = [...text.matchAll(/ (?:href|src|action|data-path|data-index)="(\/[^"]*)"/g)].map(
        ([, place]) => place ?? '',
      );
      expect(places).to.have.length.above(2);
      for (const place of places) expect(place.startsWith(`${prefix}/`), `${path}: ${place}`).to.equal(true);
      for (const place of places.filter((each) => each.includes('/assets/')))
        expect((await visitor.get(place)).status, place).to.equal(200);
    }
  });

  it('are found by the search of the documentation at their addresses below that path', async () => {
    const { text } = await visitor.get(`${prefix}/docs/search.json`);
    const found = JSON.parse(text) as readonly { readonly path: string }[];
    expect(found).to.have.length.above(100);
    expect(found.filter(({ path }) => !path.startsWith(`${prefix}/docs`))).to.deep.equal([]);
  });

  it('are not found where the proxy leaves the path, which is told', async () => {
    const told = async (path: string) => (await fetch(`${service.address}${prefix}${path}`)).text();
    for (const path of ['/console', '/api/v1/cards', '/docs'])
      expect(await told(path)).to.include('The proxy must strip /mail, the path of BASE_URL.');
    expect(await told('/v1/cards')).not.to.include('proxy');
  });

  it('lead back to the page that was asked for after signing in', async () => {
    const wanted = `${prefix}/console/${org}/keys`;
    const stranger = new Visitor({ baseUrl: origin });
    const asked = await stranger.get(wanted);
    expect(asked.location).to.equal(`${prefix}/console/sign-in?to=${encodeURIComponent(wanted)}`);
    const email = `owner-${org.slice(0, 8)}@example.com`;
    const signedIn = await stranger.submit(`${prefix}/console/sign-in`, 'signIn', {
      email,
      password,
      to: wanted,
    });
    expect(signedIn.location).to.equal(wanted);
  });

  it('are linked to with that path, and so are their pictures', async () => {
    const { text } = await visitor.get(`${prefix}/collection/welcome-home`);
    const [, url] = /"og:url" content="([^"]*)"/.exec(text) ?? [];
    const [, image = ''] = /"og:image" content="([^"]*)"/.exec(text) ?? [];
    expect(url).to.equal(`${origin}${prefix}/collection/welcome-home`);
    expect(image.startsWith(`${origin}${prefix}/pictures/`)).to.equal(true);
    expect((await fetch(image)).status).to.equal(200);
  });
});
