import { expect } from 'chai';
import { WriteHealth } from '../../../application/writing/write-health.js';
import { VirtualClock } from '../../support/memory/clock.js';

describe('the health of a store that is written to', () => {
  const watched = () => {
    const clock = new VirtualClock();
    const probes: string[] = [];
    let outcome: () => Promise<unknown> = () => Promise.resolve();
    const health = new WriteHealth(clock, () => {
      probes.push('probe');
      return outcome();
    });
    return { clock, probes, health, probe: (next: () => Promise<unknown>) => void (outcome = next) };
  };

  it('costs no write while none was refused', async () => {
    const { clock, probes, health } = watched();
    for (let asked = 0; asked < 100; asked += 1) {
      expect(await health.failure()).to.equal(null);
      await clock.advance(500);
    }
    expect(probes).to.deep.equal([]);
  });

  it('is the reason of the refusal until a small write succeeds, which is tried once a second at most', async () => {
    const { clock, probes, health, probe } = watched();
    probe(() => Promise.reject(new Error('still full')));
    health.wrote(new Error('disk is full'));
    expect(await health.failure()).to.equal('disk is full');
    for (let asked = 0; asked < 100; asked += 1) {
      await clock.advance(100);
      await health.failure();
    }
    expect(probes).to.have.length(10);
    expect(await health.failure()).to.equal('still full');
    probe(() => Promise.resolve());
    await clock.advance(1_000);
    expect([await health.failure(), probes.length]).to.deep.equal([null, 11]);
  });

  it('is good again at once when another write succeeds', async () => {
    const { probes, health } = watched();
    health.wrote(new Error('disk is full'));
    health.wrote(null);
    expect([await health.failure(), probes]).to.deep.equal([null, []]);
  });
});
