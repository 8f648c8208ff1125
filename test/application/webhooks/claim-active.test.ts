import { expect } from 'chai';
import { openOffice } from '../../support/fixtures/webhooks.js';
import { org } from '../../support/fixtures/world.js';

const url = 'https://receiver.test/hook';

describe('webhooks of a suspended organization', () => {
  const open = async (isSuspended: (org: string) => Promise<boolean>, refuses = () => false) => {
    const office = await openOffice();
    await office.register(url);
    const { claims } = office.deliveries;
    const asked: string[] = [];
    const suspensions = {
      isSuspended: (of: string) => {
        asked.push(of);
        return isSuspended(of);
      },
      wasSuspended: () => false,
    };
    const release = claims.release.bind(claims);
    claims.release = async (claim) => {
      if (refuses()) throw new Error('MongoDB is away');
      await release(claim);
    };
    const stop = await office.start({ suspensions });
    return { office, stop, asked };
  };

  it('wait, are not counted as attempts, and go out once the suspension has ended', async () => {
    let isSuspended = true;
    const { office, stop, asked } = await open(() => Promise.resolve(isSuspended));
    await office.send();
    await office.until(() => asked.length > 0);
    await office.world.clock.advance(86_400_000);
    expect([office.sender.sent.length, (await office.rows()).map(({ status }) => status)]).to.deep.equal([
      0,
      ['pending'],
    ]);
    expect(new Set(asked)).to.deep.equal(new Set([org]));
    isSuspended = false;
    await office.world.clock.advance(10_000);
    await office.until(() => office.sender.sent.length === 1);
    const rows = await office.rows();
    expect(rows.map(({ status, attempts }) => [status, attempts.length])).to.deep.equal([['delivered', 1]]);
    await stop();
    expect(office.reported).to.deep.equal([]);
  });

  it('go out if nobody can tell whether it is suspended', async () => {
    const { office, stop } = await open(() => Promise.reject(new Error('the event store is away')));
    await office.send();
    await office.until(() => office.sender.sent.length === 1);
    await stop();
  });

  it('go out soon if the check hangs', async () => {
    const { office, stop, asked } = await open(() => new Promise(() => undefined));
    await office.send();
    await office.until(() => asked.length > 0);
    await office.world.clock.advance(500);
    await office.until(() => office.sender.sent.length === 1);
    await stop();
  });

  it('are released each, though one can’t be', async () => {
    let isSuspended = true;
    let left = 1;
    const { office, stop, asked } = await open(
      () => Promise.resolve(isSuspended),
      () => left-- > 0,
    );
    await office.send();
    await office.send();
    await office.until(() => asked.length > 0 && left < 0);
    isSuspended = false;
    await office.world.clock.advance(10_000);
    await office.until(() => office.sender.sent.length > 0);
    await stop();
    expect(office.reported).to.deep.equal([]);
  });
});
