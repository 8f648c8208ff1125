import { expect } from 'chai';
import { pictureRoutes } from '../../../../adapters/http/api/pictures.js';
import type { Artwork } from '../../../../application/ports/artwork.js';
import { front } from '../../../support/fixtures/front.js';
import { answersIn, call, openRaw, startHttp } from '../../../support/http/http.js';
import { VirtualClock } from '../../../support/memory/clock.js';
import { eventually } from '../../../support/time/eventually.js';

describe('the pictures of fronts', () => {
  const start = async () => {
    const clock = new VirtualClock();
    const reads: string[] = [];
    const stored = { bytes: Buffer.from('bytes') as Buffer | null, error: null as Error | null };
    const get: Artwork['get'] = async (_, size) => {
      reads.push(size);
      if (stored.error !== null) throw stored.error;
      return stored.bytes;
    };
    const service = await startHttp(pictureRoutes({ artwork: { get }, clock }));
    const statusOf = async (headers = {}) => (await call(service, { path, headers })).status;
    return { clock, reads, stored, service, statusOf };
  };
  const { digest } = front('a');
  const path = `/pictures/${digest}/preview.webp`;

  it('are read once for all responses that are under way, but not for a client that has them', async () => {
    const { reads, service, statusOf } = await start();
    const { socket, seen } = openRaw(service.port);
    const [one, other] = [path, path.replace('preview', 'thumbnail')].map(
      (each) => `GET ${each} HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    socket.write(`${one}${other}`.repeat(20));
    await eventually(() => answersIn(seen()).length === 40);
    expect(reads).to.deep.equal(['preview', 'thumbnail']);
    expect(await statusOf({ 'if-none-match': `"${digest}"` })).to.equal(304);
    expect(reads).to.have.length(2);
    socket.destroy();
    await service.close();
  });

  it('are not shown for long once they are removed, and are read again after a failure', async () => {
    const { clock, stored, service, statusOf } = await start();
    stored.error = new Error('the disk is away');
    expect(await statusOf()).to.equal(500);
    stored.error = null;
    expect(await statusOf()).to.equal(200);
    stored.bytes = null;
    await clock.advance(60_001);
    expect(await statusOf()).to.equal(404);
    await service.close();
  });
});
