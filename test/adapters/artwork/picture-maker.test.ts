import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sharp, { type Sharp } from 'sharp';
import { pictureProcess } from '../../../adapters/artwork/picture-maker.js';
import type { MadeFronts } from '../../../application/ports/artwork.js';
import type { Fit } from '../../../domain/artwork.js';
import { DomainError } from '../../../domain/errors.js';
import { rounds } from '../../support/runner/effort.js';
import { read } from '../../support/runner/repository.js';
import { blackPng } from '../../support/artwork/pictures.js';

type Colour = readonly [red: number, green: number, blue: number];

const plain = ([r, g, b]: Colour, { width = 630, height = 870, alpha = 1 } = {}): Sharp =>
  sharp({ create: { width, height, channels: 4, background: { r, g, b, alpha } } });

const frontOf = (fronts: MadeFronts, wanted: Fit): MadeFronts[number] => {
  const front = fronts.find(({ fit }) => fit === wanted);
  if (front === undefined) throw new Error(`there is none for ${wanted}`);
  return front;
};

/** The colour of a dot, at parts of the width and the height. */
const dotAt = async (picture: Buffer, x: number, y: number): Promise<Colour> => {
  const { data, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true });
  const at = (Math.floor(y * info.height) * info.width + Math.floor(x * info.width)) * info.channels;
  return [data[at] ?? -1, data[at + 1] ?? -1, data[at + 2] ?? -1];
};

const expectColour = (found: Colour, wanted: Colour, within = 3): void => {
  const furthest = Math.max(...found.map((value, at) => Math.abs(value - (wanted[at] ?? 0))));
  expect(furthest, `${found.join(',')} is not ${wanted.join(',')}`).to.be.at.most(within);
};

const refusal = async (made: Promise<unknown>): Promise<string> => {
  const error = await made.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DomainError)) throw new Error(`not refused: ${String(error)}`);
  expect([error.code, error.param]).to.deep.equal(['invalid_body', 'file']);
  return error.message;
};

const [red, blue, orange]: readonly Colour[] = [
  [200, 20, 20],
  [20, 20, 200],
  [220, 130, 40],
] as const;
const white: Colour = [255, 255, 255];

describe('the maker of fronts', () => {
  const maker = pictureProcess();
  const make = (file: Buffer): Promise<MadeFronts> => maker.make([file]);
  const jpeg = (colour: Colour) => plain(colour).jpeg({ quality: 95, chromaSubsampling: '4:4:4' });

  it('makes a master for the press and pictures for screens, of exact sizes', async () => {
    const made = await make(await jpeg(orange).toBuffer());
    expect(made.map(({ fit, width, height }) => [fit, width, height])).to.deep.equal([
      ['fill', 630, 870],
      ['fit', 630, 870],
    ]);
    for (const { digest, bytes, pictures } of made) {
      expect(bytes).to.equal(pictures.master.length);
      const { format, width, height, density, chromaSubsampling, space } = await sharp(
        pictures.master,
      ).metadata();
      expect([format, width, height, density, chromaSubsampling, space]).to.deep.equal([
        'jpeg',
        1575,
        2175,
        300,
        '4:4:4',
        'srgb',
      ]);
      expect(digest).to.equal(createHash('sha256').update(pictures.master).digest('hex'));
      const onScreen = await Promise.all(
        [pictures.preview, pictures.thumbnail].map((picture) => sharp(picture).metadata()),
      );
      expect(onScreen.map((each) => [each.format, each.width, each.height])).to.deep.equal([
        ['webp', 800, 1120],
        ['webp', 240, 336],
      ]);
    }
  });

  it('makes the same bytes of the same picture', async () => {
    const file = await jpeg(orange).toBuffer();
    const [one, other] = await Promise.all([make(file), make(file)]);
    expect(one).to.deep.equal(other);
  });

  it('fills the card with a picture, or fits it with a white border', async () => {
    const wide = await plain(orange, { width: 1200, height: 600 }).png().toBuffer();
    const made = await make(wide);
    const [filled, fitted] = [frontOf(made, 'fill').pictures.master, frontOf(made, 'fit').pictures.master];
    for (const [x, y] of [[0, 0], [0.99, 0.99], [0.5, 0.5]] as const) expectColour(await dotAt(filled, x, y), orange); // prettier-ignore
    expectColour(await dotAt(fitted, 0.5, 0.5), orange);
    // 675 of 2,175 dots are the picture's.
    expectColour(await dotAt(fitted, 0.5, (1087 - 330) / 2175), orange);
    expectColour(await dotAt(fitted, 0.5, (1087 - 345) / 2175), white);
    // A quarter of an inch inside the cut.
    expectColour(await dotAt(fitted, 108 / 1575, 0.5), white);
    expectColour(await dotAt(fitted, 117 / 1575, 0.5), orange);
  });

  it('turns a photograph of a telephone upright, and forgets where and by whom it was taken', async () => {
    const file = await sharp({ create: { width: 800, height: 600, channels: 3, background: '#1414c8' } })
      .composite([
        {
          input: await plain(red, { width: 400, height: 600 }).png().toBuffer(),
          left: 0,
          top: 0,
        },
      ])
      .withExif({
        IFD0: { Make: 'Telephone of Ada', Orientation: '6' },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' },
      })
      .withMetadata({ orientation: 6 })
      .withIccProfile('p3')
      .jpeg({ chromaSubsampling: '4:4:4' })
      .toBuffer();
    expect(file.includes('Telephone of Ada')).to.equal(true);
    expect((await sharp(file).metadata()).icc).not.to.equal(undefined);
    const made = await make(file);
    expect([made[0]?.width, made[0]?.height]).to.deep.equal([600, 800]);
    const { pictures } = frontOf(made, 'fill');
    // What was on the left is above.
    expectColour(await dotAt(pictures.master, 0.5, 0.1), red, 5);
    expectColour(await dotAt(pictures.master, 0.5, 0.9), blue, 5);
    for (const each of Object.values(pictures)) {
      expect(each.includes('Ada')).to.equal(false);
      expect((await sharp(each).metadata()).icc).to.equal(undefined);
      expect((await sharp(each).metadata()).exif?.includes('GPS') ?? false).to.equal(false);
    }
  });

  it('turns a picture upright from each of the eight ways in which a camera may be held', async () => {
    const [r, g, b, w] = [[200, 20, 20], [20, 200, 20], [20, 20, 200], white] as const;
    // The corners as they are stored: those of the first row, then those of the second.
    const stored = [
      [r, g, b, w],
      [g, r, w, b],
      [w, b, g, r],
      [b, w, r, g],
      [r, b, g, w],
      [g, w, r, b],
      [w, g, b, r],
      [b, r, w, g],
    ];
    for (const [at, corners] of stored.entries()) {
      const file = await sharp(Buffer.from(corners.flat()), { raw: { width: 2, height: 2, channels: 3 } })
        .resize(800, 800, { kernel: 'nearest' })
        .withMetadata({ orientation: at + 1 })
        .jpeg({ chromaSubsampling: '4:4:4' })
        .toBuffer();
      const { master } = frontOf(await make(file), 'fit').pictures;
      for (const [corner, colour] of [r, g, b, w].entries())
        expectColour(await dotAt(master, corner % 2 ? 0.7 : 0.3, corner < 2 ? 0.4 : 0.6), colour, 5);
    }
  });

  it('keeps the colours of Display P3 and of CMYK', async () => {
    const p3 = await jpeg(orange).withIccProfile('p3').toBuffer();
    const stored = await sharp(p3).keepIccProfile().raw().toBuffer();
    expect(Math.abs((stored[0] ?? 0) - orange[0])).to.be.greaterThan(5);
    expectColour(await dotAt(frontOf(await make(p3), 'fill').pictures.master, 0.5, 0.5), orange);

    const deep = await plain(orange).toColourspace('rgb16').withIccProfile('p3').png().toBuffer();
    const { depth, hasProfile } = await sharp(deep).metadata();
    expect([depth, hasProfile]).to.deep.equal(['ushort', true]);
    expectColour(await dotAt(frontOf(await make(deep), 'fill').pictures.master, 0.5, 0.5), orange);

    const brown: Colour = [150, 110, 90];
    const cmyk = await plain(brown).flatten().toColourspace('cmyk').jpeg({ quality: 98 }).toBuffer();
    expect((await sharp(cmyk).metadata()).space).to.equal('cmyk');
    expectColour(await dotAt(frontOf(await make(cmyk), 'fill').pictures.master, 0.5, 0.5), brown, 12);
  });

  it('puts what is transparent on white, and takes 16 bits a colour', async () => {
    const file = await plain([0, 0, 0], { alpha: 0.5 }).toColourspace('rgb16').png().toBuffer();
    const { depth, hasAlpha } = await sharp(file).metadata();
    expect([depth, hasAlpha]).to.deep.equal(['ushort', true]);
    expectColour(await dotAt(frontOf(await make(file), 'fill').pictures.preview, 0.5, 0.5), [127, 127, 127]);
  });

  it('takes the first picture of an animation', async () => {
    const frames = await Promise.all([red, blue].map((colour) => plain(colour).png().toBuffer()));
    const file = await sharp(frames, { join: { animated: true } })
      .webp({ lossless: true })
      .toBuffer();
    expect((await sharp(file).metadata()).pages).to.equal(2);
    const made = await make(file);
    expect([made[0]?.width, made[0]?.height]).to.deep.equal([630, 870]);
    expectColour(await dotAt(frontOf(made, 'fill').pictures.master, 0.5, 0.9), red);
  });

  it('takes a picture of one dot', async () => {
    const made = await make(await plain(blue, { width: 1, height: 1 }).png().toBuffer());
    expect([made[0]?.width, made[0]?.height]).to.deep.equal([1, 1]);
    expectColour(await dotAt(frontOf(made, 'fill').pictures.master, 0.9, 0.1), blue);
  });

  it('leaves nothing of a page that hides in a picture', async () => {
    const file = Buffer.concat([
      await jpeg(orange)
        .withExif({ IFD0: { ImageDescription: '<script>alert(1)</script>' } })
        .toBuffer(),
      Buffer.from('<html><script>alert(1)</script></html>'),
    ]);
    const { pictures } = frontOf(await make(file), 'fill');
    for (const each of Object.values(pictures)) expect(each.includes('script')).to.equal(false);
    expectColour(await dotAt(pictures.master, 0.5, 0.5), orange);
  });

  it('refuses what has too many dots, before it is read', async () => {
    for (const file of [blackPng(20_000, 20_000), blackPng(10_001, 10_000)])
      expect(await refusal(make(file))).to.equal(
        'The picture has more than 100,000,000 dots. Make it smaller: a card is printed with 1,575 × 2,175.',
      );
  });

  it('refuses a picture that is too long for its width', async () => {
    for (const file of [blackPng(60_000, 1), blackPng(1, 60_000)])
      expect(await refusal(make(file))).to.equal(
        "The picture has too many dots in one direction for those in the other. Cut it to the card's shape: a card is printed with 1,575 × 2,175.",
      );
  });

  it('takes no more memory than the dots that it accepts, also to turn a picture that comes bit by bit', async function () {
    this.timeout(240_000);
    const directory = await mkdtemp(join(tmpdir(), 'cards-pictures-'));
    const [program, file] = [join(directory, 'measured.mjs'), join(directory, 'kilobytes')];
    const real = new URL('../../../adapters/artwork/picture-process.js', import.meta.url);
    await writeFile(
      program,
      `import { writeFileSync } from 'node:fs';
      process.on('exit', () => writeFileSync(${JSON.stringify(file)}, String(process.resourceUsage().maxRSS)));
      await import(${JSON.stringify(real.href)});`,
    );
    const width = rounds({ usually: 4_000, thoroughly: 10_000 });
    const large = (alpha: number) =>
      plain(blue, { width, height: width, alpha }).withMetadata({ orientation: 6 });
    const maker = pictureProcess(pathToFileURL(program));
    for (const picture of [
      large(1).flatten().jpeg({ progressive: true, chromaSubsampling: '4:4:4' }),
      large(0.5).toColourspace('rgb16').png({ progressive: true }),
    ]) {
      expect(await maker.make([await picture.toBuffer()])).to.have.length(2);
      expect(Number(await readFile(file, 'utf8'))).to.be.within(50_000, 1_300_000);
    }
    await rm(directory, { recursive: true });
  });

  it('refuses damaged pictures', async () => {
    const noise = sharp({
      create: {
        width: 700,
        height: 700,
        channels: 3,
        background: '#000',
        noise: { type: 'gaussian', mean: 128, sigma: 40 },
      },
    });
    const files = [
      noise.clone().jpeg(),
      noise.clone().jpeg({ progressive: true }),
      noise.clone().png(),
      noise.webp(),
    ];
    for (const file of await Promise.all(files.map((each) => each.toBuffer())))
      expect(await refusal(make(file.subarray(0, file.length / 2)))).to.equal(
        'The picture is damaged or incomplete. Open it, save it again as PNG or JPEG, and upload that.',
      );
  });

  it('refuses other files in words that say what to do, whatever their names are', async () => {
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
    const refusals = [
      svg,
      `<?xml version="1.0"?>\n${svg}`,
      `\xef\xbb\xbf${svg}`,
      '%PDF-1.7\n',
      '\0\0\0\u001cftypheic',
      'name,city\n',
      '',
    ];
    const texts = await Promise.all(refusals.map((text) => refusal(make(Buffer.from(text, 'latin1')))));
    const drawing =
      'is a drawing, which has no dots. Export it as PNG, with 1,575 × 2,175 dots, and upload that.';
    const unknown =
      'The file is no PNG, JPEG or WebP picture, whatever its name says. Save it as one of these, and upload that.';
    expect(texts).to.deep.equal([
      `This SVG ${drawing}`,
      `This SVG ${drawing}`,
      `This SVG ${drawing}`,
      `This PDF ${drawing}`,
      'This is a HEIC picture. Export it as JPEG, and upload that.',
      unknown,
      unknown,
    ]);
    const gif = await plain(red, { width: 9, height: 9 }).gif().toBuffer();
    expect(await refusal(make(gif))).to.equal(unknown);
  });

  it('outlives what its process does, one picture after the other, and tells whether that may be the picture', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-pictures-'));
    const tooMuch =
      'The picture took too much time or memory. Save it as JPEG with fewer dots, and upload that.';
    const [front] = await make(await jpeg(red).toBuffer());
    const { fit, digest, width, height, bytes } = front ?? expect.fail('no front');
    const begun = `${JSON.stringify({ fronts: [{ front: { fit, digest, width, height, bytes }, screen: [9, 9] }] })}\n`;
    const programs = {
      'dies.mjs': 'process.kill(process.pid, "SIGKILL");',
      'sleeps.mjs': 'setInterval(() => undefined, 1000);',
      'dies-writing.mjs': `process.stdout.write(${JSON.stringify(begun)} + 'dots');`,
      'floods.mjs':
        'import { writeSync } from "node:fs"; const all = Buffer.alloc(1e6); for (;;) writeSync(1, all);',
      'lies.mjs': `process.stdout.write(${JSON.stringify(begun)} + 'x'.repeat(${bytes} + 18));`,
      'eats.mjs': 'const all = []; for (;;) all.push(new Array(1e6).fill(all.length));',
    };
    for (const [name, text] of Object.entries(programs)) {
      await writeFile(join(directory, name), text);
      const broken = pictureProcess(
        pathToFileURL(join(directory, name)),
        name === 'sleeps.mjs' ? 300 : 60_000,
      );
      // Larger than a pipe holds, so that the process ends before it was read.
      const tries = [1, 2].map(() => refusal(broken.make([Buffer.alloc(1_000_000)])));
      expect(await Promise.all(tries), name).to.deep.equal([tooMuch, tooMuch]);
    }
    await writeFile(join(directory, 'cannot.mjs'), 'throw new Error("the library is not there");');
    await writeFile(
      join(directory, 'heap.mjs'),
      'import v8 from "node:v8"; throw new Error(`${v8.getHeapStatistics().heap_size_limit < 300e6}`);',
    );
    for (const [name, why] of [
      ['heap.mjs', 'true'],
      ['missing.mjs', 'Cannot find module'],
      ['cannot.mjs', 'the library is not there'],
    ] as const) {
      const unable = pictureProcess(pathToFileURL(join(directory, name)));
      const error: unknown = await unable.make([Buffer.alloc(9)]).catch((thrown: unknown) => thrown);
      expect(error instanceof DomainError, name).to.equal(false);
      expect(String(error)).to.include(`${name} ended with code 1: `).and.include(why);
    }
    await rm(directory, { recursive: true });
  });

  it('has its library in the lockfile for each platform that the service runs on', () => {
    const lockfile: {
      readonly packages: Readonly<Record<string, { readonly integrity?: string } | undefined>>;
    } = JSON.parse(read('package-lock.json'));
    const platforms = [
      'linux-x64',
      'linux-arm64',
      'linuxmusl-x64',
      'linuxmusl-arm64',
      'darwin-x64',
      'darwin-arm64',
    ];
    const names = platforms.flatMap((platform) => [`sharp-${platform}`, `sharp-libvips-${platform}`]);
    const pinned = names.filter((name) => lockfile.packages[`node_modules/@img/${name}`]?.integrity);
    expect(pinned).to.deep.equal(names);
  });
});
