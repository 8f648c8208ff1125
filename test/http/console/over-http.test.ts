import { expect } from 'chai';
import { call } from '../../support/http/http.js';
import { clientsOf, startTestService, type RunningService } from '../../support/http/service.js';
import { password } from '../../support/http/visitor.js';

describe('over http to other machines', () => {
  let service: RunningService;
  before(async () => {
    service = await startTestService({ BASE_URL: 'http://cards.example', DEMO: 'public' });
  });
  after(() => service.stop());

  it('nobody signs in, and links and invitations that were tried stay good', async () => {
    const { operator } = clientsOf({ ...service, baseUrl: service.address });
    const make = async (path: string, body?: object) => {
      const made = await operator(`/operator/v1/${path}`, { method: 'POST', ...(body && { body }) });
      return new URL(String(made.body['url'])).pathname;
    };
    const [demo] = (await operator('/operator/v1/organizations')).rows;
    const members = `organizations/${String(demo?.['id'])}/members`;
    const [owner] = (await operator(`/operator/v1/${members}`)).rows;
    const guest = { email: 'guest@example.com', name: 'A guest', role: 'viewer' };
    const enter = await make('console-links');
    const forms = [
      ['/console/sign-in', { do: 'signIn', email: guest.email, password }],
      [enter, { do: 'enter' }],
      [enter, { do: 'enterDemo' }],
      [await make(members, guest), { do: 'join', name: guest.name, password }],
      [await make(`${members}/${String(owner?.['id'])}/reset`), { do: 'reset', password }],
    ] as const;
    const send = (path: string, fields?: Readonly<Record<string, string>>) => {
      const headers = { host: 'cards.example', origin: 'http://cards.example' };
      const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
      return fields === undefined
        ? call(service, { path, headers })
        : call(service, { method: 'POST', path, headers: form, body: `${new URLSearchParams(fields)}` });
    };
    const head = async () => (await operator('/operator/v1/anchor')).body['position'];
    const before = await head();
    for (const [path, fields] of forms) {
      const { status, text, headers } = await send(path, { ...fields, form: fields.do });
      expect([status, headers['set-cookie']], fields.do).to.deep.equal([403, undefined]);
      expect(text).to.include('Put TLS in front').and.to.include('Nothing was done');
      const looked = await send(path);
      expect([looked.status, looked.text.includes(`value="${fields.do}"`)], fields.do).to.deep.equal([
        200,
        true,
      ]);
    }
    expect(await head()).to.equal(before);
  });
});
