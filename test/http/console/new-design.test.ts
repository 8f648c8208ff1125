import { expect } from 'chai';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { pictureLimit } from '../../../application/organizations/fronts.js';
import { blackPng } from '../../support/artwork/pictures.js';
import { plainPicture, redAndBlue, uploadPicture } from '../../support/artwork/upload.js';
import {
  aCard,
  built,
  startTestService,
  type RunningService,
  type Tenant,
} from '../../support/http/service.js';
import { isDistributed } from '../../support/runner/wiring.js';
import { memberOf, type Visitor } from '../../support/http/visitor.js';

describe('a new design in the console', () => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;
  let page: string;

  before(async function () {
    this.timeout(60_000);
    service = await startTestService();
    tenant = await service.tenant();
    owner = await memberOf(service, tenant.org, 'owner');
    page = `/console/${tenant.org}/designs/new`;
  });
  after(() => service.stop());

  const send = async (file: Blob, name = 'Ours') =>
    owner.upload(page, { ...(await owner.form(page, 'upload')), name }, file);
  const picturesIn = (text: string) => text.match(/\/pictures\/[^"]+/g) ?? [];
  const fetched = async (path = '') => {
    const response = await fetch(`${service.baseUrl}${path}`);
    return {
      status: response.status,
      headers: response.headers,
      bytes: Buffer.from(await response.arrayBuffer()),
    };
  };

  it('is shown as it will be printed, and saved by one button', async () => {
    const location = await uploadPicture(owner, tenant.org, 'Our front');
    const { text } = await owner.get(location);
    expect(text).to.include('It fills the card, and is cut at the edges.').and.include('with a white border');
    expect(text).not.to.include('per inch');
    // The card, 1,500 × 2,100 dots, within the 38 that are printed around it and cut off.
    const [cut, all] = ['M38 38h1500v2100h-1500z', 'M0 0h1575v2175h-1575z'];
    const paths = [...text.matchAll(/<path d="([^"]*)"/g)].map(([, d = '']) => d);
    const drawn = paths.filter((d) => d.includes(cut));
    expect(drawn).to.deep.equal([`${all}${cut}`, cut, `${all}${cut}`, cut]);
    const [fill, fit] = picturesIn(text);
    const printed = await fetched(fill);
    const { width, height, density, format } = await sharp(printed.bytes).metadata();
    expect([width, height, density, format]).to.deep.equal([1575, 2175, 300, 'jpeg']);
    const saved = await owner.submit(location, 'save', { fit: 'fit' });
    expect(saved.location).to.equal(`/console/${tenant.org}/designs?done=designSaved`);
    const designs = await owner.get(`/console/${tenant.org}/designs`);
    const digest = /\/pictures\/(\w+)\//.exec(fit ?? '')?.[1] ?? 'none';
    expect(designs.text).to.include(`<img class="cover" src="/pictures/${digest}/thumbnail.webp"`);
    expect((await tenant.api('/api/v1/designs')).rows.map(({ name }) => name)).to.include('Our front');
  });

  it('shows its picture at its address also when it is withdrawn', async () => {
    const other = await service.tenant({ designs: false });
    const someone = await memberOf(service, other.org, 'owner');
    const page = await uploadPicture(someone, other.org, 'Not theirs', await plainPicture(90));
    await someone.submit(page, 'save', { fit: 'fill' });
    const [shown] = (await other.api('/api/v1/designs')).rows;
    const path = `/operator/v1/organizations/${other.org}/designs/${String(shown?.['id'])}/withdraw`;
    await built(service.operator(path, { body: { reason: 'It is not theirs.' } }));
    expect((await fetch(String(shown?.['preview_url']))).status).to.equal(200);
    const { text } = await someone.get(`/console/${other.org}/designs`);
    expect(text).to.include('It is not theirs.').and.include('Erase the picture');
  });

  it('is archived when its picture is erased', async () => {
    await owner.submit(await uploadPicture(owner, tenant.org, 'Private'), 'save', { fit: 'fill' });
    const designs = async () => (await tenant.api('/api/v1/designs')).rows;
    const design = String((await designs()).find(({ name }) => name === 'Private')?.['id']);
    const { id: code } = await built(tenant.api('/api/v1/cards', { body: aCard({ design_id: design }) }));
    const list = `/console/${tenant.org}/designs`;
    const erased = await owner.submit(list, 'erase', { design });
    expect(erased.location).to.equal(`${list}?done=designErased`);
    expect((await designs()).map(({ id }) => id)).not.to.include(design);
    expect((await owner.get(`/cards/${code}`)).text).to.include('<small>Picture erased</small>');
  });

  it('is saved once in each fit, whatever is sent again', async () => {
    const location = await uploadPicture(owner, tenant.org, 'Twice');
    const fronts = picturesIn((await owner.get(location)).text).map((path) => path.split('/')[2]);
    for (const fit of ['fill', 'fill', 'fit', 'fit'])
      expect((await owner.submit(location, 'save', { fit })).status).to.equal(303);
    const { location: told } = await owner.submit(location, 'save', { fit: 'fit' });
    expect(told, 'where nothing is saved').to.equal(`/console/${tenant.org}/designs`);
    const { rows } = await tenant.api('/api/v1/designs');
    expect(rows.filter(({ name }) => name === 'Twice')).to.have.length(2);
    const { text } = await owner.get(`/console/${tenant.org}/designs`);
    for (const front of fronts) expect(text).to.include(`/pictures/${front}/`);
  });

  it('has a picture that whoever has its address may see and keep, and nobody else', async () => {
    const [front = ''] = picturesIn((await owner.get(await uploadPicture(owner, tenant.org))).text);
    const thumbnail = await fetched(front.replace('front.jpg', 'thumbnail.webp'));
    const { format, width, height } = await sharp(thumbnail.bytes).metadata();
    expect([thumbnail.status, format, width, height]).to.deep.equal([200, 'webp', 240, 336]);
    const left = await sharp(thumbnail.bytes)
      .extract({ left: 20, top: 100, width: 1, height: 1 })
      .raw()
      .toBuffer();
    expect([(left[0] ?? 0) > 240, (left[2] ?? 255) < 15]).to.deep.equal([true, true]);
    const { headers } = thumbnail;
    expect(headers.get('cache-control')).to.equal('private, max-age=31536000, immutable');
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
    const again = await fetch(`${service.baseUrl}${front}`, {
      headers: { 'if-none-match': headers.get('etag') ?? '' },
    });
    expect([again.status, (await again.arrayBuffer()).byteLength]).to.deep.equal([304, 0]);
    const digest = front.split('/')[2] ?? '';
    for (const wrong of [
      front.replace(digest, 'a'.repeat(64)),
      `/pictures/${digest}/front.svg`,
      '/pictures/../x/front.jpg',
    ])
      expect((await fetched(wrong)).status, wrong).to.equal(404);
  });

  it('is one of 60 on a page, which waits for none of their pictures', async () => {
    const other = await service.tenant({ designs: false });
    const someone = await memberOf(service, other.org, 'owner');
    const path = `/operator/v1/organizations/${other.org}/designs`;
    for (let at = 0; at < 60; at++) await built(service.operator(path, { body: { name: `Old ${at}` } }));
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
    const busy = { width: 800, height: 1100, channels: 3, background: '#808080', noise } as const;
    const file = new Blob([await sharp({ create: busy }).jpeg().toBuffer()]);
    await someone.submit(await uploadPicture(someone, other.org, 'Busy', file), 'save', { fit: 'fill' });
    const { text } = await someone.get(`/console/${other.org}/designs`);
    const [own = '', collection = ''] = text.split('<h2 id="collection">');
    expect(own.match(/class="cover[ "]/g)).to.have.length(60);
    expect(own)
      .to.match(/href="[^"]*before=[^"]*"/)
      .and.not.include('Old 0<');
    const images = text.match(/<img[^>]*>/g) ?? [];
    expect(images.length).to.be.greaterThan(collection.split('<img').length - 1);
    for (const image of images) expect(image).to.match(/width="240" height="336" loading="lazy"/);
    const [thumbnail] = picturesIn(own);
    expect(thumbnail).to.match(/thumbnail\.webp$/);
    expect((await fetched(thumbnail)).bytes.length).to.be.below(64_000);
  });

  it('tells what is wrong with a picture, and what to do', async () => {
    const small = await uploadPicture(owner, tenant.org, 'Small', await redAndBlue(900, 1100));
    const { text } = await owner.get(small);
    expect(text).to.include(
      '900 × 1,100 dots are 151 per inch on this card; 300 print well, under 150 is refused.',
    );
    expect(picturesIn(text)).to.have.length(2);
    const onlyFits = await owner.get(
      await uploadPicture(owner, tenant.org, 'Wide', await redAndBlue(1500, 600)),
    );
    expect(onlyFits.text).to.include('82 per inch');
    expect(picturesIn(onlyFits.text)).to.have.length(1);
    const noSvg = new Blob(['<svg xmlns="http://www.w3.org/2000/svg"/>']);
    for (const [file, told] of [
      [await redAndBlue(300, 400), 'Upload a larger picture.'],
      [noSvg, 'This SVG is a drawing'],
      [new Blob(['no picture']), 'no PNG, JPEG or WebP picture'],
      [new Blob([Buffer.alloc(pictureLimit.bytes + 1)]), 'larger than 25 MB'],
      [new Blob([Buffer.alloc(33 * 1024 * 1024)]), 'larger than 25 MB'],
    ] as const) {
      const refused = await send(file);
      expect([refused.status, refused.text.includes(told)], told).to.deep.equal([422, true]);
    }
    expect((await owner.submit(page, 'upload')).text).to.include('Choose a picture');
  });

  it('has a picture of at most 25 MB, and of no more dots than are read', async () => {
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
    const create = { width: 3000, height: 4000, channels: 3, background: '#808080', noise } as const;
    const picture = await sharp({ create }).jpeg({ quality: 60 }).toBuffer();
    // What comes after the end of a picture is no part of it.
    const largest = Buffer.concat([picture, Buffer.alloc(pictureLimit.bytes - picture.length)]);
    const files = [new Blob([new Uint8Array(largest)]), new Blob([new Uint8Array(blackPng(20_000, 20_000))])];
    const other = await service.tenant({ designs: false });
    const someone = await memberOf(service, other.org, 'owner');
    const path = `/console/${other.org}/designs/new`;
    const statuses = [];
    for (const file of files) {
      const fields = { ...(await someone.form(path, 'upload')), name: 'Ours' };
      statuses.push((await someone.upload(path, fields, file)).status);
    }
    expect(statuses).to.deep.equal([303, 422]);
  }).timeout(60_000);

  it('is refused while there is no place for its picture, and taken when there is', async function () {
    if (isDistributed()) this.skip();
    const other = await service.tenant({ designs: false });
    const someone = await memberOf(service, other.org, 'owner');
    const picture = await plainPicture(200);
    const place = join(service.dataDir, 'artwork');
    await rename(place, `${place}-away`);
    await writeFile(place, '');
    const refused = await uploadPicture(someone, other.org, 'Ours', picture).catch(String);
    expect(refused).to.include('not taken: 503').and.include("Uploads can't be reached just now.");
    expect((await fetch(`${service.baseUrl}/readyz`)).status).to.equal(200);
    await rm(place);
    await rename(`${place}-away`, place);
    await uploadPicture(someone, other.org, 'Ours', picture);
  });

  it('is of the organization alone', async () => {
    const other = await service.tenant();
    const location = await uploadPicture(await memberOf(service, other.org, 'owner'), other.org);
    const here = location.replace(other.org, tenant.org);
    expect((await owner.get(here)).status).to.equal(404);
    expect((await owner.post(here, { do: 'save', form: 'foreign', fit: 'fill' })).status).to.equal(404);
  });
});
