import { expect } from 'chai';
import { startTestService, type RunningService } from '../../support/http/service.js';
import { settableClock } from '../../support/http/http.js';
import { judgedPerMinute } from '../../../adapters/http/console/signing-in.js';
import { memberOf, password, Visitor } from '../../support/http/visitor.js';

const guessable = 'p@$$w0rd'.repeat(32);

describe('a new password', () => {
  const clock = settableClock('2026-03-02T14:05:00.000Z');
  const aMinuteLater = (): void => clock.set(new Date(clock.now() + 60_000).toISOString());
  let service: RunningService;
  let members: string;

  before(async () => {
    service = await startTestService({}, clock);
    const { org } = await service.tenant();
    members = `/operator/v1/organizations/${org}/members`;
    await memberOf(service, org, 'viewer', 'ada@example.com');
  });
  beforeEach(aMinuteLater);
  after(() => service.stop());

  const pathOf = async (path: string, body?: object): Promise<string> => {
    const reply = await service.operator(path, { method: 'POST', ...(body && { body }) });
    return new URL(String(reply.body['url'])).pathname;
  };
  const inviteEve = (email = 'eve@example.com') => pathOf(members, { email, name: 'Eve', role: 'viewer' });
  const resetOfAda = async (): Promise<string> => {
    const { rows } = await service.operator(members);
    const ada = rows.find(({ email }) => email === 'ada@example.com');
    return pathOf(`${members}/${String(ada?.['id'])}/reset`);
  };

  for (const [kind, link, action] of [
    ['an invitation', () => inviteEve(), 'join'],
    ['a link for a new password', resetOfAda, 'reset'],
  ] as const)
    it(`is judged ten times a minute for ${kind}, and then not looked at`, async () => {
      const path = await link();
      const visitor = new Visitor(service);
      const form = await visitor.form(path, action);
      const statusOf = async (chosen: string) =>
        (await visitor.post(path, { ...form, name: 'Eve', password: chosen })).status;
      for (let tries = 0; tries < judgedPerMinute.link; tries += 1)
        expect(await statusOf('password1234')).to.equal(422);
      const began = performance.now();
      expect([await statusOf(guessable), await statusOf(password)]).to.deep.equal([429, 429]);
      expect(performance.now() - began, 'one that is not judged costs no time').to.be.below(2_000);
      aMinuteLater();
      expect(await statusOf(password)).to.equal(303);
    });

  it('is judged thirty times a minute for an address, whatever links it has', async () => {
    const visitor = new Visitor(service);
    const statuses: number[] = [];
    for (let links = 0; links < 4; links += 1) {
      const path = await inviteEve(`eve-${links}@example.com`);
      const form = await visitor.form(path, 'join');
      for (let tries = 0; tries < judgedPerMinute.link; tries += 1)
        statuses.push((await visitor.post(path, { ...form, password: 'password1234' })).status);
    }
    const times = (status: number) => statuses.filter((each) => each === status).length;
    expect([times(422), times(429)]).to.deep.equal([judgedPerMinute.address, 10]);
  });

  it('can be chosen by whoever has an account, however many a stranger tries for the same address', async () => {
    const reset = await resetOfAda();
    const stranger = new Visitor(service, '127.0.0.2');
    for (let links = 0; links < 2; links += 1) {
      const { org } = await service.tenant();
      const invited = { email: 'ada@example.com', name: 'Ada', role: 'viewer' };
      const path = await pathOf(`/operator/v1/organizations/${org}/members`, invited);
      const form = await stranger.form(path, 'join');
      for (let tries = 0; tries < judgedPerMinute.link; tries += 1)
        expect((await stranger.post(path, { ...form, password: 'password1234' })).status).to.equal(422);
    }
    const ada = new Visitor(service, '127.0.0.3');
    const form = await ada.form(reset, 'reset');
    expect((await ada.post(reset, { ...form, password })).status).to.equal(303);
  });

  it('comes with a name that is as long as one may be', async () => {
    const path = await inviteEve('one-more-eve@example.com');
    const visitor = new Visitor(service);
    const sent = { ...(await visitor.form(path, 'join')), password };
    expect((await visitor.post(path, { ...sent, name: 'x'.repeat(1_000) })).status).to.equal(422);
    expect((await visitor.post(path, { ...sent, name: 'Eve' })).status).to.equal(303);
  });

  it('that is too long for any password is refused without a count', async () => {
    const path = await inviteEve('another-eve@example.com');
    const visitor = new Visitor(service);
    const form = await visitor.form(path, 'join');
    for (let tries = 0; tries < 15; tries += 1)
      expect((await visitor.post(path, { ...form, password: 'x'.repeat(257) })).status).to.equal(422);
    expect((await visitor.post(path, { ...form, password })).status).to.equal(303);
  });
});
