import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { collectionFront } from '../../../adapters/artwork/collection.js';
import { firstCollection } from '../../../domain/catalogue.js';
import { files, read, root } from '../../support/runner/repository.js';

const folder = 'adapters/artwork/collection';
const fronts = files
  .filter((path) => posix.dirname(path) === folder)
  .map((path) => ({ path, slug: posix.basename(path, '.svg'), svg: read(path) }));

const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found]) => found ?? '');

describe('the fronts of the collection', () => {
  it('are one for each card, and are built', () => {
    expect(fronts.map(({ slug }) => slug)).to.have.members(firstCollection.map(({ slug }) => slug));
    expect(fronts.filter(({ path }) => !existsSync(join(root, 'dist', path)))).to.deep.equal([]);
  });

  it('never have an id twice, on whatever page they stand together', () => {
    const ids = fronts.flatMap(({ svg }) => all(svg, / id="([^"]*)"/g));
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).to.deep.equal([]);
  });

  for (const { slug, svg } of fronts)
    describe(slug, () => {
      it('is as large as a card of 5 by 7 inches with its bleed, which the ground covers', () => {
        const [opening, ground] = svg.split('\n');
        expect(opening).to.match(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 525 725"/);
        expect(ground).to.match(/^<path fill="#[0-9a-f]{6}" d="M0 0h525v725H0z"\/>$/);
      });

      it('is nothing but drawing: no text, pictures, scripts or styles', () => {
        const drawing = ['svg', 'g', 'defs', 'clipPath', 'use', 'path', 'circle', 'ellipse'];
        expect(all(svg, /<([a-zA-Z][^\s>/]*)/g)).to.satisfy((names: string[]) =>
          names.every((name) => drawing.includes(name)),
        );
        expect(svg).to.not.match(/\s(on\w+|style|class)=|<[!?](?!--)|&/);
      });

      it('refers to nothing but its own parts, whose names begin with its own', () => {
        const ids = all(svg, / id="([^"]*)"/g);
        expect(ids.filter((id) => !id.startsWith(`${slug}-`))).to.deep.equal([]);
        expect(all(svg, /href="([^"]*)"/g).filter((to) => !ids.includes(to.slice(1)))).to.deep.equal([]);
        expect(all(svg, /url\(([^)]*)\)/g).filter((to) => !ids.includes(to.slice(1)))).to.deep.equal([]);
      });

      it('is printed at 300 dots an inch, in the colours that it is drawn in', async () => {
        const { master } = (await collectionFront(slug)).pictures;
        const { width, height, density, format, chromaSubsampling } = await sharp(master).metadata();
        expect([width, height, density, format, chromaSubsampling]).to.deep.equal([
          1575,
          2175,
          300,
          'jpeg',
          '4:4:4',
        ]);
        const dots = (picture: Buffer): Promise<Buffer> =>
          sharp(picture).resize(21, 29).removeAlpha().toColourspace('srgb').raw().toBuffer();
        const [drawn, printed] = [await dots(Buffer.from(svg)), await dots(master)];
        const apart = drawn.reduce((sum, value, at) => sum + Math.abs(value - (printed[at] ?? 0)), 0);
        expect(apart / drawn.length).to.be.below(8);
      });

      it('is whole, and at most 25 kB', () => {
        const open: string[] = [];
        for (const [, end, name, empty] of svg.matchAll(/<(\/?)([a-zA-Z]+)[^>]*?(\/?)>/g))
          if (end === '/') expect(open.pop()).to.equal(name);
          else if (empty !== '/') open.push(name ?? '');
        expect(open).to.deep.equal([]);
        expect(Buffer.byteLength(svg)).to.be.at.most(25_000);
      });
    });
});
