import { normaliseText } from '../../../domain/text.js';
import { UnreadableFile } from './csv-rows.js';

type Texts = Readonly<Record<string, string>>;

/** The columns in which exporters keep a field. Of several in a file, the first one here is read. */
const fieldNames: Texts = {
  external_id: 'external_id id record_id user_id klaviyo_id euid square_customer_id',
  name: 'shipping_name ship_name ship_to_name billing_name name full_name display_name buyer_name nome naam',
  last_first_name: 'last_name_first_name last_first nachname_vorname',
  first_name: 'first_name firstname fname first given_name forename vorname prénom nombre voornaam shipping_first_name billing_first_name',
  last_name: 'last_name lastname lname last family_name surname nachname nom apellidos cognome sobrenome achternaam shipping_last_name billing_last_name',
  company: 'company company_name organization organization_name organization_1_name account_name associated_company default_address_company shipping_company billing_company firma société empresa azienda bedrijf',
  job_title: 'job_title jobtitle organization_title organization_1_title position title fonction cargo',
  email: 'email email_address email_1_value email_1 user_email primary_email primary_email_address main_email from_email_address billing_email buyer_email work_email home_email personal_email login_email account_email invitee_email attendee_email guest_email subscriber_email donor_email your_email email_addr emails mail mail_address email_adresse mailadresse adresse_e_mail adresse_de_messagerie adresse_électronique courriel adresse_courriel correo_electrónico correo indirizzo_email indirizzo_e_mail endereço_de_email endereço_de_e_mail email_adres',
  phone: 'phone phone_number phone_1_value phone_1 mobile_phone mobile_phone_number mobile_number mobile home_phone business_phone work_phone cell_phone main_phone default_address_phone billing_phone mobiltelefon telefon téléphone teléfono telefone telefoon',
  birthday: 'birthday birthdate birth_date date_of_birth dob geburtstag geburtsdatum anniversaire date_de_naissance cumpleaños fecha_de_nacimiento data_di_nascita data_de_nascimento geboortedatum',
  work_anniversary: 'work_anniversary hire_date',
}; // prettier-ignore

/** The same for each address in a file, whose names begin with one of `addresses`. */
const partNames: Texts = {
  line1: 'line_1 address_1 street street_1 street_address street_address_1 street_address_line_1 straße rue calle adresse dirección indirizzo endereço adres address',
  line2: 'line_2 address_2 street_2 street_address_2 street_line_2 street_address_line_2 line_2_district_neighborhood extended_address adresszusatz complément_adresse complemento dirección_2',
  line3: 'line_3 address_3 street_3 street_address_3 street_line_3 street_address_line_3',
  apt: 'apt apt_no apt_number apt_suite apt_suite_etc apt_unit apartment apartment_no apartment_number',
  suite: 'suite suite_no suite_number ste',
  unit: 'unit unit_no unit_number',
  house_number: 'house_number house_no house_nr street_number street_no hausnummer hausnr huisnummer numéro_de_rue',
  city: 'city town town_city city_town suburb_city city_suburb ort ville ciudad città cidade plaats woonplaats',
  state: 'state state_code st province_code province state_region state_region_province state_province province_state state_province_region_county_territory_prefecture_republic bundesland bundesland_kanton état estado estado_provincia provincia provincie region',
  zip: 'zip zip_code zip_4 postal_code postcode post_code zip_postal_code zip_post_code zip_postcode postal_zip_code plz postleitzahl code_postal código_postal cap cep',
  country: 'country country_code country_region land land_region pays país paese',
}; // prettier-ignore
/** Under these names 6/5 is in May. */
const dayFirst = /^(?:geburts|anniversaire|date_de|cumpleaños|fecha_de|data_d|geboorte)/;
/** Where the column of one of these has nothing in a row, the next one is read. */
const inTurn = new Set(['name', 'email', 'phone']);

/** Of several addresses in a row, the first one here that has a street is read. */
const addresses = ['', 'mailing_', 'shipping_', 'ship_', 'ship_to_', 'primary_', 'home_', 'default_', 'address_1_', 'business_', 'work_', 'billing_', 'other_', 'address_2_']; // prettier-ignore

export interface Column {
  readonly index: number;
  readonly field: string;
  readonly address: string | null;
  readonly isDayFirst?: boolean;
}

/** A place of a contact, and the name of its column in the tables. */
type Place = Omit<Column, 'index'> & { readonly name: string; readonly rank: number };

export const withoutMarks = (text: string): string =>
  text.normalize('NFD').replaceAll(/\p{M}/gu, '').replaceAll(/ß/giu, 'ss');

/** However its words are joined, with accents or without: `ZIPCode` is `zip_code`, `STRASSE` is `straße`. */
const spelled = (name: string): string => withoutMarks(name).replaceAll('_', '');

/** Places of a contact by the spelling of columns, the preferred names first. */
export const places = new Map<string, Place>();
const addPlaces = (names: Texts, address: string | null, prefix: string): void => {
  for (const [field, all] of Object.entries(names))
    for (const each of all.split(' ')) {
      const [name, spelling] = [prefix + each, spelled(prefix + each)];
      if (!places.has(spelling))
        places.set(spelling, { name, field, address, isDayFirst: dayFirst.test(each), rank: places.size });
    }
};
addPlaces(fieldNames, null, '');
for (const address of addresses)
  for (const prefix of [address, `${address}address_`]) addPlaces(partNames, address, prefix);

const optOut = /opt.?(?:ed.?)?out|do.?not|unsubscri|suppress/i;

/** A name that belongs to an address. */
const nameAt = /^(shipping_|ship_|ship_to_|billing_)(?:first_|last_)?name$/;

/** Where no column has the city, these are a whole address, or where a person was online. */
const needsCity =
  /(?<!(?:email|street|extended|state|country)_)(?:address|adresse|dirección|indirizzo|endereço|adres|region)$/;

/**
 * `E-mail 1 - Value` is `email_1_value`, `MailingCity` is `mailing_city`, `City (home)` is `home_city`, and
 * `Person - Email - Work` is `work_email`.
 */
const plainName = (heading: string): string => {
  const words = withoutMarks(heading).match(/\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+/gu) ?? [];
  return words
    .join('_')
    .toLowerCase()
    .replace(/^(?:person|contact|customer)_/, '')
    .replace(/^(?:recipient|delivery)_/, 'shipping_')
    .replace(/_required$/, '')
    .replace(/_privat$/, '_home')
    .replace(/_gesch(?:a|ae)ftlich$/, '_work')
    .replace(/^(.+)_(home|work|mobile|business|primary|other|mailing|shipping|billing)$/, '$2_$1');
};

export interface FileOptions {
  /** The column that holds the external_id, if it has another name. */
  readonly key: string | undefined;
  /** How that is named, in words. */
  readonly keyIsNamed: string;
  /** Rows that begin before this line are skipped. */
  readonly fromLine: number;
  /** Gets the columns that are not read, and why, before the first row; with rows, those read in part. */
  readonly unread: Record<string, string>;
}

const shown = (heading: string): string =>
  normaliseText(heading.slice(0, 100))
    .replaceAll(/[\p{Cc}\p{Z}]+/gu, ' ')
    .trim();
const isSame = (heading: string, other: string): boolean =>
  shown(heading).toLowerCase() === shown(other).toLowerCase();

/** The first line of a file. */
interface Header {
  /** As they are shown. */
  readonly headings: readonly string[];
  /** The place that each means, if it means one. */
  readonly meant: readonly (Place | undefined)[];
}

const readHeader = (cells: readonly string[]): Header => {
  const width = cells.findLastIndex((cell) => cell.trim() !== '') + 1;
  const headings = cells.slice(0, width).map((cell, at) => shown(cell) || `column ${at + 1}`);
  // BigCommerce has `City - 1`.
  const placeOf = (name: string) => places.get(spelled(name)) ?? places.get(spelled(name.replace(/_1$/, '')));
  return { headings, meant: headings.map((heading) => placeOf(plainName(heading))) };
};

/**
 * Which addresses have a city. Etsy has `Street 1` beside `Ship City`, others `Mailing Street` beside `City`:
 * then the parts without a name in front belong to the address `unnamedIs`.
 */
const matchAddresses = ({ meant }: Header) => {
  const having = (field: string) =>
    addresses.filter((address) => meant.some((place) => place?.field === field && place.address === address));
  const [withStreet, withCity] = [having('line1'), having('city')];
  const streets = withStreet.filter((address) => !withCity.includes(address));
  const cities = withCity.filter((address) => !withStreet.includes(address));
  const isUnclear = withStreet.includes('') || streets.length > 1;
  const [unnamedIs] = !withCity.includes('') ? cities : isUnclear ? [] : streets;
  if (unnamedIs !== undefined) withCity.push(unnamedIs);
  return { withCity: new Set<string | null>(withCity), unnamedIs };
};

/** Every column that means a field of a contact, those of the preferred names and addresses first. */
const meantColumns = (header: Header): readonly Column[] => {
  const { meant } = header;
  const { withCity, unnamedIs } = matchAddresses(header);
  const addressOf = ({ address, name }: Place): string | null => {
    const [, ofName] = nameAt.exec(name) ?? [];
    const named = ofName !== undefined && meant.some((place) => place?.address === ofName) ? ofName : address;
    return named === '' ? (unnamedIs ?? named) : named;
  };
  return meant
    .flatMap((place, index) => {
      if (place === undefined || (needsCity.test(place.name) && !withCity.has(place.address))) return [];
      return [{ ...place, index, address: addressOf(place) }];
    })
    .toSorted((a, b) => a.rank - b.rank);
};

/**
 * The columns that are read, and the names of all. The key column is the external_id, and also
 * the field that its name means. Throws UnreadableFile.
 */
export const readColumns = (
  { cells, delimiter }: { readonly cells: readonly string[]; readonly delimiter: string },
  { key, keyIsNamed, unread }: FileOptions,
) => {
  const header = readHeader(cells);
  const { headings, meant } = header;
  const named = (name: string): number => meant.findIndex((place) => place?.name === name);
  const lacks = (column: string, next = '') =>
    new UnreadableFile(
      `The file has no column ${column}. ${next}Its columns, which ${delimiter} separates, are: ${headings.slice(0, 20).join(', ')}. Where something else separates them, a first line such as sep=; says so.`,
    );
  const keyAt = key === undefined ? -1 : headings.findIndex((heading) => isSame(heading, key));
  if (key !== undefined && keyAt === -1) throw lacks(`"${key}"`);
  const all = meantColumns(header);
  const ofKey: readonly Column[] =
    keyAt === -1 ? [] : [{ field: 'external_id', address: null, index: keyAt }];
  const found = [...ofKey, ...all.toSorted((a, b) => Number(b.index === keyAt) - Number(a.index === keyAt))];
  const columnOf = (field: string, address: string | null = null): Column | undefined =>
    found.find((column) => column.field === field && column.address === address);
  if (columnOf('external_id') === undefined) {
    const email = headings[columnOf('email')?.index ?? -1];
    throw lacks(
      'external_id',
      `Name the column that identifies a contact ${keyIsNamed}${email === undefined ? '' : `, such as "${email}"`}: without one, a second run would create duplicates. `,
    );
  }
  const isFirst = (column: Column): boolean => columnOf(column.field, column.address) === column;
  // Shopify's orders have their numbers as `Name`, and rows for more items have no other name.
  const nameOf = headings[named('shipping_name')] ?? headings[named('billing_name')];
  const isNumber = ({ field, index }: Column): boolean =>
    field === 'name' && meant[index]?.name === 'name' && nameOf !== undefined && !columnOf('line1', '');
  const columns = found.filter(
    (column) => (isFirst(column) || inTurn.has(column.field)) && !isNumber(column),
  );
  const whyUnread = (index: number): string => {
    const column = found.find((each) => each.index === index);
    if (column === undefined)
      return (
        (meant[index]?.field === 'line1' &&
          'an address is read from columns for street, city, state and ZIP') ||
        (optOut.test(headings[index] ?? '') &&
          'nothing is read of who must not get mail: put their addresses on the do-not-mail list') ||
        'no field is read from a column of this name'
      );
    if (isNumber(column)) return `name is read from ${nameOf}`;
    const { field, address } = column;
    const first = headings[columnOf(field, address)?.index ?? -1];
    return `${field} is read from ${first}${inTurn.has(field) ? ' first' : ''}`;
  };
  for (const [index, heading] of headings.entries())
    if (!columns.some((column) => column.index === index && isFirst(column)))
      unread[heading] = whyUnread(index);
  return { columns, headings };
};
export type Columns = ReturnType<typeof readColumns>;
