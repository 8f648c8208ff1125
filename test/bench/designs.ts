import { hash, randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { fileArtwork } from '../../adapters/artwork/files.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { ArtworkDigest, master, type Front } from '../../domain/artwork.js';
import { browserProgram } from '../support/http/browser.js';
import { enter } from './console.js';
import { paintsOf } from './paint.js';
import { caughtUp, startService, type StartedService } from './processes.js';
import { atMost, type Figure } from './report.js';
import { seed } from './seed.js';

const designs = 200;

/** A picture like a photograph: no two of its dots are alike. */
const picture = async (width: number): Promise<Buffer> => {
  const height = Math.round((width * 7) / 5);
  const raw = { width, height, channels: 3 as const };
  return sharp(randomBytes(width * height * 3), { raw })
    .blur(3)
    .webp({ quality: 82 })
    .toBuffer();
};

/** Puts other pictures for each design. Their print masters, which no page shows, are small. */
const putFronts = async (directory: string): Promise<readonly Front[]> => {
  await mkdir(directory);
  const artwork = fileArtwork(join(directory, 'artwork'), new SystemClock());
  const fronts: Front[] = [];
  for (let number = 0; number < designs; number += 1) {
    const bytes = randomBytes(1_000);
    const digest = ArtworkDigest.parse(hash('sha256', bytes));
    const [preview, thumbnail] = [await picture(800), await picture(240)];
    await artwork.put(digest, { master: bytes, preview, thumbnail });
    fronts.push({ digest, bytes: bytes.length, ...master, fit: 'fill' });
  }
  return fronts;
};

/** Of 200 designs with pictures, and of as many that have none. No figure without a browser. */
export const measureDesigns = async (directory: string): Promise<Figure[]> => {
  const program = browserProgram();
  if (program === null) return [];
  const services: StartedService[] = [];
  try {
    const visits = [];
    for (const name of ['pictures', 'names']) {
      const own = join(directory, name);
      const fronts = name === 'pictures' ? await putFronts(own) : Array.from({ length: designs }, () => null);
      const { org } = await seed(own, 1, { produced: false, fronts });
      const service = await startService(own);
      services.push(service);
      await caughtUp(service);
      const { url } = service;
      visits.push({ url, cookie: await enter(service), before: '/console', to: `/console/${org}/designs` });
    }
    const [ours = 0, least = 0] = await paintsOf(program, visits);
    const what = `console: first contentful paint of designs, ${designs} with pictures, longer than with none by`;
    return [
      { ...atMost(what, ours - least, 50), comparedWith: `${Math.round(least)} ms`, ratio: ours / least },
    ];
  } finally {
    for (const service of services) await service.stop();
  }
};
