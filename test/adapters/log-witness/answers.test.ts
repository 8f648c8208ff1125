import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { askWitness } from '../../../adapters/log-witness/client.js';

const request = { old: 0, proof: [], note: 'a note\n' };

const askedOf = async (
  answer: (asked: IncomingMessage, response: ServerResponse) => void,
): Promise<unknown> => {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has a port');
  try {
    return await askWitness(`http://127.0.0.1:${address.port}`, request, new AbortController().signal).catch(
      (error: unknown) => String(error),
    );
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
};

describe('the answer of a witness', () => {
  it('is read as far as it counts, and no further, however much there is', async () => {
    let sent = 0;
    const chunk = Buffer.alloc(1_048_576, '1');
    await askedOf((_, response) => {
      const more = (): void => {
        while (sent < 100 * chunk.length) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    expect(sent).to.be.within(1, 20 * chunk.length);
  });

  it('is asked for as it is, and is not unpacked', async () => {
    const asked: (string | undefined)[] = [];
    const found = await askedOf(({ headers }, response) => {
      asked.push(String(headers['accept-encoding']));
      response.writeHead(409, { 'content-encoding': 'gzip' }).end(gzipSync('20\n'));
    });
    expect(asked).to.deep.equal(['identity']);
    expect(String(found)).to.include('responded in gzip, which was not asked for');
  });
});
