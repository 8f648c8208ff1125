import { expect } from 'chai';
import { readContact } from '../../../../adapters/http/api/contact-fields.js';
import { contactRows } from '../../../../adapters/http/api/contact-file.js';

type Row = Readonly<Record<string, string>>;

interface Exporter {
  /** All columns, in the order of the file. */
  readonly columns: string;
  /** The column that is named as the key. */
  readonly key?: string;
  /** Where the names, the e-mail address and the address are, but for the country. */
  readonly places: string;
  /** How the two states are written. */
  readonly states?: readonly [illinois: string, puertoRico: string];
  /** What else the rows say. */
  readonly more: readonly Row[];
  /** What the contacts have of that. */
  readonly has: readonly object[];
  /** The columns that are read; no field is read from the others, unless there is another reason. */
  readonly read: string;
  readonly because?: Row;
}

const places = ['first_name', 'last_name', 'email', 'line1', 'line2', 'city', 'state', 'zip'];
const people = [
  ['Ada', 'Lovelace', 'ada@example.com', '12 Analytical Way', 'Apt 4', 'Springfield', 'IL', '62701'],
  ['Bo', 'Núñez', 'bo@example.com', '7 Calle "Luna", Old Town', '', 'San Juan', 'PR', '00901'],
  ['Cy', 'Ng', 'cy@example.com'],
];

const named = (text: string): readonly string[] => text.split(', ');

const outlook =
  'Title, First Name, Middle Name, Last Name, Suffix, Company, Department, Job Title, Business Street, Business Street 2, Business Street 3, Business City, Business State, Business Postal Code, Business Country/Region, Home Street, Home Street 2, Home Street 3, Home City, Home State, Home Postal Code, Home Country/Region, Other Street, Other Street 2, Other Street 3, Other City, Other State, Other Postal Code, Other Country/Region, Business Fax, Business Phone, Business Phone 2, Home Fax, Home Phone, Home Phone 2, Mobile Phone, Other Phone, Primary Phone, Account, Anniversary, Birthday, Business Address PO Box, Categories, E-mail Address, E-mail Type, E-mail Display Name, E-mail 2 Address, Gender, Government ID Number, Notes, Priority, Private, Sensitivity, Spouse, User 1, Web Page';

const exporters: Readonly<Record<string, Exporter>> = {
  'Google Contacts': {
    columns:
      'First Name, Middle Name, Last Name, Phonetic First Name, Name Prefix, Nickname, File As, Organization Name, Organization Title, Organization Department, Birthday, Notes, Photo, Labels, E-mail 1 - Label, E-mail 1 - Value, E-mail 2 - Value, Phone 1 - Label, Phone 1 - Value, Address 1 - Label, Address 1 - Formatted, Address 1 - Street, Address 1 - City, Address 1 - PO Box, Address 1 - Region, Address 1 - Postal Code, Address 1 - Country, Address 1 - Extended Address, Website 1 - Value, Event 1 - Label, Event 1 - Value',
    key: 'E-mail 1 - Value',
    places:
      'First Name, Last Name, E-mail 1 - Value, Address 1 - Street, Address 1 - Extended Address, Address 1 - City, Address 1 - Region, Address 1 - Postal Code',
    more: [
      {
        'Organization Name': 'Analytical Engines',
        'Organization Title': 'Countess',
        Birthday: '1815-12-10',
        'Phone 1 - Value': '+1 217-555-0100 ::: +1 217-555-0101',
        'Address 1 - Country': 'United States',
        'Address 1 - Formatted': '12 Analytical Way\nApt 4\nSpringfield, IL 62701\nUnited States',
        Labels: 'Friends ::: * myContacts',
      },
      { Birthday: '--05-06', 'Address 1 - Country': 'US' },
    ],
    has: [
      {
        external_id: 'ada@example.com',
        company: 'Analytical Engines',
        job_title: 'Countess',
        birthday: '12-10',
        phone: '+1 217-555-0100',
      },
      { external_id: 'bo@example.com', birthday: '05-06' },
      { external_id: 'cy@example.com' },
    ],
    read: 'First Name, Last Name, Organization Name, Organization Title, Birthday, E-mail 1 - Value, Phone 1 - Value, Address 1 - Street, Address 1 - City, Address 1 - Region, Address 1 - Postal Code, Address 1 - Country, Address 1 - Extended Address',
  },
  'Google Contacts, as it was': {
    columns:
      'Name, Given Name, Additional Name, Family Name, Yomi Name, Name Prefix, Birthday, Occupation, Notes, Group Membership, E-mail 1 - Type, E-mail 1 - Value, Phone 1 - Type, Phone 1 - Value, Address 1 - Type, Address 1 - Formatted, Address 1 - Street, Address 1 - City, Address 1 - Region, Address 1 - Postal Code, Address 1 - Country, Address 1 - Extended Address, Address 2 - Street, Address 2 - City, Organization 1 - Name, Organization 1 - Title',
    key: 'E-mail 1 - Value',
    places:
      'Given Name, Family Name, E-mail 1 - Value, Address 1 - Street, Address 1 - Extended Address, Address 1 - City, Address 1 - Region, Address 1 - Postal Code',
    more: [
      { Name: 'Ada Lovelace', 'Organization 1 - Name': 'Analytical Engines', 'Address 2 - City': 'London' },
    ],
    has: [{ external_id: 'ada@example.com', company: 'Analytical Engines' }],
    read: 'Name, Given Name, Family Name, Birthday, E-mail 1 - Value, Phone 1 - Value, Address 1 - Street, Address 1 - City, Address 1 - Region, Address 1 - Postal Code, Address 1 - Country, Address 1 - Extended Address, Address 2 - Street, Address 2 - City, Organization 1 - Name, Organization 1 - Title',
  },
  'Outlook, with addresses at home': {
    columns: outlook,
    key: 'E-mail Address',
    places:
      'First Name, Last Name, E-mail Address, Home Street, Home Street 2, Home City, Home State, Home Postal Code',
    more: [
      {
        Title: 'Ms.',
        'Job Title': 'Countess',
        Birthday: '12/10/1815',
        Anniversary: '0/0/00',
        'Mobile Phone': '(217) 555-0100',
        'Home Country/Region': 'United States of America',
        'Business Street': '1 Engine Row',
      },
      { Birthday: '5/6/1987', 'Home Country/Region': 'Puerto Rico' },
      { Title: 'Mr.', Birthday: '0/0/00' },
    ],
    has: [{ job_title: 'Countess', birthday: '12-10', phone: '(217) 555-0100' }, { birthday: '05-06' }],
    read: 'First Name, Last Name, Company, Job Title, Business Street, Business Street 2, Business Street 3, Business City, Business State, Business Postal Code, Business Country/Region, Home Street, Home Street 2, Home Street 3, Home City, Home State, Home Postal Code, Home Country/Region, Other Street, Other Street 2, Other Street 3, Other City, Other State, Other Postal Code, Other Country/Region, Mobile Phone, Birthday, E-mail Address',
    because: {
      Title: 'job_title is read from Job Title',
      'Home Phone': 'phone is read from Mobile Phone first',
      'Business Phone': 'phone is read from Mobile Phone first',
    },
  },
  'Outlook, with addresses at work': {
    columns: outlook,
    key: 'E-mail Address',
    places:
      'First Name, Last Name, E-mail Address, Business Street, Business Street 2, Business City, Business State, Business Postal Code',
    more: [{ 'Home Country/Region': 'United States of America' }],
    has: [],
    read: 'First Name, Last Name, Company, Job Title, Business Street, Business Street 2, Business Street 3, Business City, Business State, Business Postal Code, Business Country/Region, Home Street, Home Street 2, Home Street 3, Home City, Home State, Home Postal Code, Home Country/Region, Other Street, Other Street 2, Other Street 3, Other City, Other State, Other Postal Code, Other Country/Region, Mobile Phone, Birthday, E-mail Address',
    because: {
      Title: 'job_title is read from Job Title',
      'Home Phone': 'phone is read from Mobile Phone first',
      'Business Phone': 'phone is read from Mobile Phone first',
    },
  },
  HubSpot: {
    columns:
      'Record ID, First Name, Last Name, Email, Phone Number, Mobile Phone Number, Contact owner, Associated Company, Last Activity Date, Lead Status, Create Date, Job Title, Company Name, Date of birth, Street Address, Street Address 2, City, State/Region, Postal Code, Country/Region, Marketing contact status',
    places: 'First Name, Last Name, Email, Street Address, Street Address 2, City, State/Region, Postal Code',
    more: [
      {
        'Record ID': '90071992547409930',
        'Company Name': 'Analytical Engines',
        'Job Title': 'Countess',
        'Phone Number': '+12175550100',
        'Date of birth': '1815-12-10',
        'Country/Region': 'United States',
      },
      { 'Record ID': '90071992547409931', 'Street Address': '7 Calle "Luna", Old Town' },
      { 'Record ID': '3' },
    ],
    has: [
      {
        external_id: '90071992547409930',
        company: 'Analytical Engines',
        job_title: 'Countess',
        phone: '+12175550100',
        birthday: '12-10',
      },
      { external_id: '90071992547409931' },
      { external_id: '3' },
    ],
    read: 'Record ID, First Name, Last Name, Email, Phone Number, Job Title, Company Name, Date of birth, Street Address, Street Address 2, City, State/Region, Postal Code, Country/Region',
    because: {
      'Mobile Phone Number': 'phone is read from Phone Number first',
      'Associated Company': 'company is read from Company Name',
    },
  },
  'a report of Salesforce': {
    columns:
      'Salutation, First Name, Last Name, Title, Account Name, Mailing Street, Mailing City, Mailing State/Province, Mailing Zip/Postal Code, Mailing Country, Phone, Fax, Mobile, Email, Account Owner, Contact ID, Birthdate',
    places:
      'First Name, Last Name, Email, Mailing Street, , Mailing City, Mailing State/Province, Mailing Zip/Postal Code',
    more: [
      {
        'Contact ID': '003Dn00000AbCdE',
        'Mailing Street': '12 Analytical Way\r\nApt 4',
        Title: 'Countess',
        'Account Name': 'Analytical Engines',
        Birthdate: '12/10/1815',
        'Mailing Country': 'USA',
      },
      { 'Contact ID': '003Dn00000AbCdF' },
      { 'Contact ID': '003Dn00000AbCdG' },
    ],
    has: [
      {
        external_id: '003Dn00000AbCdE',
        line2: 'Apt 4',
        job_title: 'Countess',
        company: 'Analytical Engines',
        birthday: '12-10',
      },
      { external_id: '003Dn00000AbCdF' },
      { external_id: '003Dn00000AbCdG' },
    ],
    read: 'First Name, Last Name, Title, Account Name, Mailing Street, Mailing City, Mailing State/Province, Mailing Zip/Postal Code, Mailing Country, Phone, Email, Contact ID, Birthdate',
    because: { Mobile: 'phone is read from Phone first' },
  },
  'Salesforce’s Data Loader': {
    columns:
      'Id, IsDeleted, AccountId, LastName, FirstName, Salutation, Name, OtherStreet, OtherCity, OtherState, OtherPostalCode, OtherCountry, MailingStreet, MailingCity, MailingState, MailingPostalCode, MailingCountry, Phone, MobilePhone, Email, Title, Department, Birthdate, OwnerId, CreatedDate',
    places: 'FirstName, LastName, Email, MailingStreet, , MailingCity, MailingState, MailingPostalCode',
    more: [
      {
        Id: '003Dn00000AbCdEIAV',
        Name: 'Ada Lovelace',
        MailingStreet: '12 Analytical Way\nApt 4',
        OtherStreet: '1 Engine Row',
        OtherCity: 'Boston',
        Birthdate: '1815-12-10T00:00:00.000Z',
      },
      { Id: '2' },
      { Id: '3' },
    ],
    has: [
      { external_id: '003Dn00000AbCdEIAV', line2: 'Apt 4', birthday: '12-10' },
      { external_id: '2' },
      { external_id: '3' },
    ],
    read: 'Id, LastName, FirstName, Name, OtherStreet, OtherCity, OtherState, OtherPostalCode, OtherCountry, MailingStreet, MailingCity, MailingState, MailingPostalCode, MailingCountry, Phone, Email, Title, Birthdate',
    because: { MobilePhone: 'phone is read from Phone first' },
  },
  Mailchimp: {
    columns:
      'Email Address, First Name, Last Name, Address, Phone Number, Birthday, MEMBER_RATING, OPTIN_TIME, OPTIN_IP, CONFIRM_TIME, LATITUDE, LONGITUDE, TIMEZONE, CC, REGION, LAST_CHANGED, LEID, EUID, NOTES, TAGS',
    places: 'First Name, Last Name, Email Address',
    more: [
      {
        Address: '12 Analytical Way  Apt 4  Springfield  IL  62701',
        Birthday: '12/10',
        CC: 'DE',
        REGION: 'BE',
        EUID: '810826c56e',
        TAGS: '"VIP","Blog"',
      },
      { EUID: 'b' },
      { EUID: 'c' },
    ],
    has: [{ external_id: '810826c56e', birthday: '12-10' }, { external_id: 'b' }, { external_id: 'c' }],
    read: 'Email Address, First Name, Last Name, Phone Number, Birthday, EUID',
    because: { Address: 'an address is read from columns for street, city, state and ZIP' },
  },
  Shopify: {
    columns:
      'Customer ID, First Name, Last Name, Email, Accepts Email Marketing, Default Address Company, Default Address Address1, Default Address Address2, Default Address City, Default Address Province Code, Default Address Country Code, Default Address Zip, Default Address Phone, Phone, Accepts SMS Marketing, Total Spent, Total Orders, Note, Tax Exempt, Tags',
    places:
      'First Name, Last Name, Email, Default Address Address1, Default Address Address2, Default Address City, Default Address Province Code, Default Address Zip',
    states: ['IL', 'PR'],
    more: [
      {
        'Customer ID': "'8779761975521",
        'Default Address Company': 'Analytical Engines',
        'Default Address Zip': "'62701",
        'Default Address Country Code': 'US',
        Phone: "'+12175550100",
      },
      { 'Customer ID': "'2", 'Default Address Country Code': 'PR' },
      { 'Customer ID': "'3", 'Default Address Country Code': 'US' },
    ],
    has: [
      { external_id: '8779761975521', company: 'Analytical Engines', phone: '+12175550100' },
      { external_id: '2' },
      { external_id: '3' },
    ],
    read: 'Customer ID, First Name, Last Name, Email, Default Address Company, Default Address Address1, Default Address Address2, Default Address City, Default Address Province Code, Default Address Country Code, Default Address Zip, Phone',
    because: { 'Default Address Phone': 'phone is read from Phone first' },
  },
  Klaviyo: {
    columns:
      'Email, Klaviyo ID, First Name, Last Name, Phone Number, Address, Address 2, City, State / Region, Country, Zip Code, Latitude, Longitude, Source, Organization, Title, Last Open, Profile Created On, Date Added',
    places: 'First Name, Last Name, Email, Address, Address 2, City, State / Region, Zip Code',
    more: [
      {
        'Klaviyo ID': '01H8XGJWBWBAQ4',
        Organization: 'Analytical Engines',
        Title: 'Countess',
        Country: 'United States',
        'Date Added': '2026-05-06 07:08:09',
      },
      { 'Klaviyo ID': '2' },
      { 'Klaviyo ID': '3' },
    ],
    has: [
      { external_id: '01H8XGJWBWBAQ4', company: 'Analytical Engines', job_title: 'Countess' },
      { external_id: '2' },
      { external_id: '3' },
    ],
    read: 'Email, Klaviyo ID, First Name, Last Name, Phone Number, Address, Address 2, City, State / Region, Country, Zip Code, Organization, Title',
  },
  'customers of WooCommerce': {
    columns:
      'ID, user_login, user_email, first_name, last_name, display_name, role, billing_first_name, billing_last_name, billing_company, billing_email, billing_phone, billing_address_1, billing_address_2, billing_postcode, billing_city, billing_state, billing_country, shipping_first_name, shipping_address_1, shipping_address_2, shipping_postcode, shipping_city, shipping_state, shipping_country, paying_customer, _order_count',
    places:
      'first_name, last_name, user_email, shipping_address_1, shipping_address_2, shipping_city, shipping_state, shipping_postcode',
    states: ['IL', 'PR'],
    more: [
      {
        ID: '17',
        billing_company: 'Analytical Engines',
        billing_address_1: '1 Engine Row',
        billing_country: 'US',
        billing_phone: '217-555-0100',
      },
      { ID: '2', shipping_country: 'PR' },
      { ID: '3', billing_country: 'US', shipping_country: 'US' },
    ],
    has: [
      { external_id: '17', company: 'Analytical Engines', phone: '217-555-0100' },
      { external_id: '2' },
      { external_id: '3' },
    ],
    read: 'ID, user_email, first_name, last_name, display_name, billing_first_name, billing_last_name, shipping_first_name, billing_company, billing_phone, billing_address_1, billing_address_2, billing_postcode, billing_city, billing_state, billing_country, shipping_address_1, shipping_address_2, shipping_postcode, shipping_city, shipping_state, shipping_country',
    because: {
      billing_email: 'email is read from user_email first',
    },
  },
  'Analytics of WooCommerce': {
    columns:
      'Name, Username, Last Active, Sign Up, Email, Orders, Total Spend, AOV, Country / Region, City, Region, Postal Code',
    key: 'Email',
    places: ', , Email, , , City, Region, Postal Code',
    states: ['IL', 'PR'],
    more: [{ Name: 'Ada Lovelace' }, { Name: 'Bo Núñez' }, { Name: 'Cy Ng' }],
    has: [
      { first_name: 'Ada', last_name: 'Lovelace', line1: null, line2: null },
      { first_name: 'Bo', last_name: 'Núñez', line1: null },
      { first_name: 'Cy', last_name: 'Ng' },
    ],
    read: 'Name, Email, Country / Region, City, Region, Postal Code',
  },
  'Constant Contact': {
    columns:
      'Email address, First name, Last name, Job title, Company, Email status, Phone - home, Phone - mobile, Birthday, Street address line 1 - Home, Street address line 2 - Home, City - Home, State/Province - Home, Zip/Postal Code - Home, Country - Home, Street address line 1 - Work, City - Work, Created At',
    key: 'email address',
    places:
      'First name, Last name, Email address, Street address line 1 - Home, Street address line 2 - Home, City - Home, State/Province - Home, Zip/Postal Code - Home',
    more: [{ Birthday: '12/10', 'Phone - mobile': '217-555-0100', 'City - Work': 'Boston' }],
    has: [{ external_id: 'ada@example.com', birthday: '12-10', phone: '217-555-0100' }],
    read: 'Email address, First name, Last name, Job title, Company, Phone - mobile, Birthday, Street address line 1 - Home, Street address line 2 - Home, City - Home, State/Province - Home, Zip/Postal Code - Home, Country - Home, Street address line 1 - Work, City - Work',
    because: { 'Phone - home': 'phone is read from Phone - mobile first' },
  },
  'orders of Etsy': {
    columns:
      'Sale Date, Order ID, Buyer User ID, Full Name, First Name, Last Name, Number of Items, Buyer Email, Street 1, Street 2, Ship City, Ship State, Ship Zipcode, Ship Country, Currency',
    key: 'Order ID',
    places: 'First Name, Last Name, Buyer Email, Street 1, Street 2, Ship City, Ship State, Ship Zipcode',
    more: [{ 'Order ID': '1' }, { 'Order ID': '2' }, { 'Order ID': '3' }],
    has: [{ external_id: '1' }, { external_id: '2' }, { external_id: '3' }],
    read: 'Order ID, Full Name, First Name, Last Name, Buyer Email, Street 1, Street 2, Ship City, Ship State, Ship Zipcode, Ship Country',
  },
  'orders of Shopify': {
    columns:
      'Name, Email, Financial Status, Billing Name, Billing Street, Billing City, Billing Zip, Shipping Name, Shipping Street, Shipping Address1, Shipping Address2, Shipping Company, Shipping City, Shipping Zip, Shipping Province, Shipping Country, Id',
    places: ', , Email, Shipping Address1, Shipping Address2, Shipping City, Shipping Province, Shipping Zip',
    states: ['IL', 'PR'],
    more: [
      { Name: '#1001', Id: '4501', 'Shipping Name': 'Ada Lovelace', 'Billing Name': 'Charles Babbage' },
      { Name: '#1002', Id: '4502', 'Shipping Name': 'Bo Núñez' },
      { Name: '#1003', Id: '4503', 'Shipping Name': 'Cy Ng' },
    ],
    has: [
      { external_id: '4501', name: 'Ada Lovelace' },
      { external_id: '4502', name: 'Bo Núñez' },
      { external_id: '4503', name: 'Cy Ng' },
    ],
    read: 'Email, Billing Name, Billing Street, Billing City, Billing Zip, Shipping Name, Shipping Address1, Shipping Address2, Shipping Company, Shipping City, Shipping Zip, Shipping Province, Shipping Country, Id',
    because: {
      Name: 'name is read from Shipping Name',
      'Shipping Street': 'line1 is read from Shipping Address1',
    },
  },
  'customers of BigCommerce': {
    columns:
      'Customer ID, First Name, Last Name, Company, Email, Phone, Store Credit, Address First Name - 1, Address Line 1 - 1, Address Line 2 - 1, City - 1, State/Province - 1, Zip - 1, Country - 1, Address Line 1 - 2, City - 2',
    places:
      'First Name, Last Name, Email, Address Line 1 - 1, Address Line 2 - 1, City - 1, State/Province - 1, Zip - 1',
    more: [
      { 'Customer ID': '1', 'Address Line 1 - 2': '1 Engine Row', 'City - 2': 'Boston' },
      { 'Customer ID': '2' },
      { 'Customer ID': '3' },
    ],
    has: [{ external_id: '1' }, { external_id: '2' }, { external_id: '3' }],
    read: 'Customer ID, First Name, Last Name, Company, Email, Phone, Address Line 1 - 1, Address Line 2 - 1, City - 1, State/Province - 1, Zip - 1, Country - 1',
  },
  'donors of Bloomerang': {
    columns:
      'Account Number, First, Last, Primary Email Address, Primary Street, Primary City, Primary State, Primary ZIP Code, Main Phone',
    key: 'Account Number',
    places:
      'First, Last, Primary Email Address, Primary Street, , Primary City, Primary State, Primary ZIP Code',
    more: [
      { 'Account Number': '1', 'Primary Street': '12 Analytical Way\nApt 4' },
      { 'Account Number': '2' },
      { 'Account Number': '3' },
    ],
    has: [{ external_id: '1', line2: 'Apt 4' }, { external_id: '2' }, { external_id: '3' }],
    read: 'Account Number, First, Last, Primary Email Address, Primary Street, Primary City, Primary State, Primary ZIP Code, Main Phone',
  },
  PayPal: {
    columns:
      'Transaction ID, Name, From Email Address, Shipping Address, Address Line 1, Address Line 2/District/Neighborhood, Town/City, State/Province/Region/County/Territory/Prefecture/Republic, Zip/Postal Code, Country',
    key: 'Transaction ID',
    places:
      ', , From Email Address, Address Line 1, Address Line 2/District/Neighborhood, Town/City, State/Province/Region/County/Territory/Prefecture/Republic, Zip/Postal Code',
    more: [
      { 'Transaction ID': '1', Name: 'Ada Lovelace' },
      { 'Transaction ID': '2', Name: 'Bo Núñez' },
      { 'Transaction ID': '3', Name: 'Cy Ng' },
    ],
    has: [
      { external_id: '1', name: 'Ada Lovelace' },
      { external_id: '2', name: 'Bo Núñez' },
      { external_id: '3', name: 'Cy Ng' },
    ],
    read: 'Transaction ID, Name, From Email Address, Address Line 1, Address Line 2/District/Neighborhood, Town/City, State/Province/Region/County/Territory/Prefecture/Republic, Zip/Postal Code, Country',
    because: { 'Shipping Address': 'an address is read from columns for street, city, state and ZIP' },
  },
  'Outlook in German': {
    columns:
      'Anrede, Vorname, Nachname, Firma, Position, Straße geschäftlich, Ort geschäftlich, Straße privat, Ort privat, Bundesland/Kanton privat, Postleitzahl privat, Land/Region privat, Mobiltelefon, Geburtstag, E-Mail-Adresse',
    key: 'E-Mail-Adresse',
    places:
      'Vorname, Nachname, E-Mail-Adresse, Straße privat, , Ort privat, Bundesland/Kanton privat, Postleitzahl privat',
    more: [{ 'Straße privat': '12 Analytical Way\nApt 4', Geburtstag: '10.12.1815', Firma: 'Engines' }],
    has: [{ line2: 'Apt 4', birthday: '12-10', company: 'Engines' }],
    read: 'Vorname, Nachname, Firma, Position, Straße geschäftlich, Ort geschäftlich, Straße privat, Ort privat, Bundesland/Kanton privat, Postleitzahl privat, Land/Region privat, Mobiltelefon, Geburtstag, E-Mail-Adresse',
  },
  'somebody who writes French': {
    columns: 'Prénom, Nom, Société, Fonction, Adresse e-mail, Téléphone, Rue, Ville, État, Code postal, Pays',
    key: 'Adresse e-mail',
    places: 'Prénom, Nom, Adresse e-mail, Rue, , Ville, État, Code postal',
    more: [{ Rue: '12 Analytical Way\nApt 4', Pays: 'États-Unis' }],
    has: [{ line2: 'Apt 4' }],
    read: 'Prénom, Nom, Société, Fonction, Adresse e-mail, Téléphone, Rue, Ville, État, Code postal, Pays',
  },
  'somebody who writes Spanish': {
    columns:
      'Nombre, Apellidos, Empresa, Cargo, Correo electrónico, Teléfono, Calle, Ciudad, Estado, Código postal, País',
    key: 'Correo electrónico',
    places: 'Nombre, Apellidos, Correo electrónico, Calle, , Ciudad, Estado, Código postal',
    more: [{ Calle: '12 Analytical Way\nApt 4', País: 'Estados Unidos' }],
    has: [{ line2: 'Apt 4' }],
    read: 'Nombre, Apellidos, Empresa, Cargo, Correo electrónico, Teléfono, Calle, Ciudad, Estado, Código postal, País',
  },
  'persons of Pipedrive': {
    columns:
      'Person - Name, Person - First name, Person - Last name, Person - Organization, Person - Email - Work, Person - Email - Home, Person - Phone - Work, Person - ID, Person - Birthday, Person - Postal address, Person - Owner',
    places: 'Person - First name, Person - Last name, Person - Email - Work',
    more: [
      { 'Person - ID': '17', 'Person - Name': 'Ada Lovelace', 'Person - Birthday': '1815-12-10' },
      { 'Person - ID': '2' },
      { 'Person - ID': '3' },
    ],
    has: [{ external_id: '17', birthday: '12-10' }, { external_id: '2' }, { external_id: '3' }],
    read: 'Person - Name, Person - First name, Person - Last name, Person - Organization, Person - Email - Work, Person - Phone - Work, Person - ID, Person - Birthday',
    because: { 'Person - Email - Home': 'email is read from Person - Email - Work first' },
  },
  'a person with a spreadsheet': {
    columns:
      'ID, First name, Surname, E-mail, Street, Address Line 2, City, State, ZIP, Hire date, Birthday, Shoe size',
    places: 'First name, Surname, E-mail, Street, Address Line 2, City, State, ZIP',
    more: [
      { ID: '0017', 'Hire date': '3/1/2019', Birthday: '12/10/15' },
      { ID: '2', Birthday: '5/6' },
      { ID: '3', 'Shoe size': '9' },
    ],
    has: [
      { external_id: '0017', work_anniversary: '2019-03-01', birthday: '12-10' },
      { external_id: '2', birthday: '05-06' },
      { external_id: '3' },
    ],
    read: 'ID, First name, Surname, E-mail, Street, Address Line 2, City, State, ZIP, Hire date, Birthday',
  },
};

const parts = new Set(places.slice(3));

/** The rows as the exporter writes them. */
const rowsOf = ({ columns, places: at, states = ['Illinois', 'Puerto Rico'], more }: Exporter) =>
  people.map((person, row) => {
    const told = person.map((text, place) =>
      places[place] === 'state' ? (text === 'IL' ? states[0] : states[1]) : text,
    );
    const known = Object.fromEntries(named(at).map((column, place) => [column, told[place] ?? '']));
    return named(columns).map((column) => more[row]?.[column] ?? known[column] ?? '');
  });

/** The contacts that these people are, read by the rules of the API. */
const contactsOf = ({ places: at, key, has }: Exporter) =>
  people.map((person, row) => {
    const written = named(at).map((column, place) => (column === '' ? null : (person[place] ?? null)));
    const flat = Object.entries({
      ...(key !== undefined && { external_id: person[2] }),
      ...Object.fromEntries(places.map((place, index) => [place, written[index]])),
      ...has[row],
    });
    return readContact({
      ...Object.fromEntries(flat.filter(([name]) => !parts.has(name))),
      address: Object.fromEntries(flat.filter(([name]) => parts.has(name))),
    });
  });

const quoted = (cell: string): string =>
  /[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

type Table = readonly (readonly string[])[];
const written = (table: Table, delimiter: string, ends: readonly string[] = ['\n']): string =>
  table.map((row, at) => row.map(quoted).join(delimiter) + (ends[at] ?? ends.at(-1) ?? '')).join('');
const withoutLast = (row: readonly string[]): readonly string[] =>
  row.slice(0, row.findLastIndex((cell) => cell !== '') + 1);

const forms: Readonly<Record<string, (table: Table) => Buffer>> = {
  commas: (table) => Buffer.from(written(table, ',')),
  'commas and CRLF after a byte order mark': (table) => Buffer.from(`\ufeff${written(table, ',', ['\r\n'])}`),
  'CRLF after the header and LF after rows': (table) => Buffer.from(written(table, ',', ['\r\n', '\n'])),
  semicolons: (table) => Buffer.from(written(table, ';', ['\r\n'])),
  'semicolons, which it names': (table) => Buffer.from(`sep=;\r\n${written(table, ';', ['\r\n'])}`),
  'upright strokes': (table) => Buffer.from(written(table, '|')),
  tabs: (table) => Buffer.from(written(table, '\t')),
  'tabs in UTF-16': (table) => Buffer.from(`\ufeff${written(table, '\t', ['\r\n'])}`, 'utf16le'),
  'commas in the other UTF-16': (table) => Buffer.from(`\ufeff${written(table, ',')}`, 'utf16le').swap16(),
  'rows without their last cells, and empty ones': ([header = [], ...rows]) =>
    Buffer.from(written([header, ...rows.map(withoutLast), header.map(() => '')], ',')),
};

const imported = async ({ key, columns }: Exporter, rows: Table, form: (table: Table) => Buffer) => {
  const contacts: object[] = [];
  const unread = {};
  const file = (async function* () {
    yield form([named(columns), ...rows]);
  })();
  const options = { key, keyIsNamed: '', fromLine: 1, unread };
  for await (const row of contactRows(file, options))
    contacts.push('contact' in row ? readContact({ ...row.contact }) : row);
  return { contacts, unread };
};

describe('a file of contacts exported by', () => {
  for (const [name, exporter] of Object.entries(exporters))
    it(`${name} is read whole, and each column that is not read is named with the reason`, async () => {
      const unread = named(exporter.columns).filter((column) => !named(exporter.read).includes(column));
      const expected = {
        contacts: contactsOf(exporter),
        unread: Object.fromEntries(
          unread.map((column) => [
            column,
            exporter.because?.[column] ?? 'no field is read from a column of this name',
          ]),
        ),
      };
      for (const [form, write] of Object.entries(forms))
        expect(await imported(exporter, rowsOf(exporter), write), form).to.deep.equal(expected);
    });
});

describe('a cell of a file of contacts', () => {
  const header = 'external_id;name;line1;city;state;zip;country;birthday;work_anniversary';
  const read = async (changes: Row) => {
    const cells: Row = { external_id: '1', name: 'Ada', ...changes };
    const row = header.split(';').map((column) => cells[column] ?? '');
    const file = (async function* () {
      yield Buffer.from(`${header}\r\n${row.join(';')}\r\n`);
    })();
    const found: object[] = [];
    for await (const one of contactRows(file, { key: undefined, keyIsNamed: '', fromLine: 1, unread: {} }))
      found.push('contact' in one ? one.contact : one);
    return { ...found[0] };
  };

  for (const day of [
    '5/6/1987',
    '05-06-1987',
    '5/6',
    '1987/5/6',
    '06.05.1987',
    '6. 5.',
    '6-May-87',
    '6-May',
    '6 May 1987',
    'May 6, 1987',
    'May 6',
    '0000-05-06',
    '1987-05-06 00:00:00',
    '1987-05-06T00:00:00Z',
  ])
    // prettier-ignore
    it(`has the birthday ${day}`, async () =>
      expect(readContact(await read({ birthday: day })).birthday).to.equal('05-06'));

  for (const day of ['13/5/1987', '1-Foo-19', 'May-06', 'n/a'])
    it(`has no birthday that is guessed: ${day}`, async () => {
      const contact = await read({ birthday: day });
      expect(() => readContact(contact)).to.throw('birthday');
    });

  for (const country of [
    'U.S.A.',
    'United States (US)',
    'United States of America',
    'Vereinigte Staaten von Amerika',
    'États-Unis',
    'Estados Unidos',
    'Stati Uniti',
    'EE. UU.',
    'EE.UU.',
    'Verenigde Staten van Amerika',
    'Estados Unidos da América',
    "Etats-Unis d'Amérique",
    'The United States',
    'US - United States',
  ])
    // prettier-ignore
    it(`has the country ${country}`, async () =>
      expect(await read({ country })).to.deep.include({ address: { country: 'US' } }));

  for (const [state, code] of [
    ['Armed Forces (AE)', 'AE'],
    ['Armed Forces Africa', 'AE'],
    ['Armed Forces Middle East', 'AE'],
    ['Armed Forces Americas', 'AA'],
  ] as const)
    it(`has the state ${state}`, async () =>
      expect(await read({ state })).to.deep.include({ address: { state: code } }));

  for (const country of ['Virgin Islands (U.S.)', 'U.S. Virgin Islands', 'Îles Vierges des États-Unis'])
    it(`has the country ${country}`, async () =>
      expect(await read({ country })).to.deep.include({ address: { country: 'VI' } }));

  const zips = [
    ['2139', 'ma', '02139'],
    ['2139-1234', 'Massachusetts', '02139-1234'],
    ['901', 'US-PR', '00901'],
    ['802-1234', 'VI', '00802-1234'],
    ['9614', 'AE', '09614'],
    ['="02139"', 'MA', '02139'],
    [`"=""02139"""`, 'MA', '02139'],
    ["'02139", 'MA', '02139'],
    ['02139 1234', 'MA', '02139-1234'],
    ['02139–1234', 'MA', '02139-1234'],
  ] as const;
  for (const [zip, state, whole] of zips)
    it(`has the ZIP code ${zip} with the zeros that a spreadsheet dropped or kept`, async () =>
      expect(readContact(await read({ zip, state })).address.zip).to.equal(whole));

  for (const [zip, country, whole] of [
    ['901', 'Puerto Rico', '00901'],
    ['901-1234', 'pr', '00901-1234'],
    ['802', 'US Virgin Islands', '00802'],
  ] as const)
    it(`has the ZIP code ${zip} with the zeros that a spreadsheet dropped in ${country}`, async () =>
      expect(readContact(await read({ zip, country })).address.zip).to.equal(whole));

  const rowOf = async (columns: string, cells: string, key?: string): Promise<object> => {
    const file = (async function* () {
      yield Buffer.from(`${columns}\n${cells}\n`);
    })();
    for await (const row of contactRows(file, { key, keyIsNamed: '', fromLine: 1, unread: {} })) return row;
    return {};
  };
  const nameIn = async (columns: string, cells: string): Promise<unknown> => {
    const row = await rowOf(`id,${columns}`, `1,${cells}`);
    const { name, first_name: first } = ('contact' in row ? row.contact : {}) as Row;
    return name ?? first;
  };

  it('has no name in a row of an order of Shopify that is only another item', async () => {
    const columns = 'Name,Email,Billing Name,Billing Street,Billing City,Shipping Name,Shipping Street';
    const item = await rowOf(columns, '#1001,ada@x.test', 'Email');
    expect(item).to.deep.include({ contact: { external_id: 'ada@x.test', email: 'ada@x.test' } });
    expect(await nameIn(columns, '#1001,ada@x.test,Bob,1 Main St,Springfield')).to.equal('Bob');
  });

  for (const [column, day, birthday] of [
    ['Anniversaire', '6/5/1987', '1987-05-06'],
    ['Date de naissance', '06-05-1987', '1987-05-06'],
    ['Cumpleaños', '6/5', '05-06'],
    ['Fecha de nacimiento', '06/05/1987 00:00', '1987-05-06'],
    ['Geburtsdatum', '6.5.1987', '1987-05-06'],
    ['Geburtstag', '1987-05-06', '1987-05-06'],
    ['Data di nascita', '6/5/1987', '1987-05-06'],
    ['Data de nascimento', '6/5/1987', '1987-05-06'],
    ['Geboortedatum', '6-5-1987', '1987-05-06'],
    ['Anniversaire', '05-06', '05-06'],
    ['Anniversaire', '12/13/1987', '1987-13-12'],
    ['Birthday', '5/6/1987', '1987-05-06'],
  ] as const)
    it(`under ${column} is read as a day: ${day}`, async () =>
      expect(await rowOf(`id,${column}`, `1,${day}`)).to.have.nested.property('contact.birthday', birthday));

  const shop = 'billing_first_name,billing_address_1,shipping_first_name,shipping_address_1';
  const stripe = 'Name,Address Line1,Address City,Shipping Name,Shipping Address Line1';
  for (const [columns, cells, name] of [
    [shop, 'Bob,1 Main St,Ada,2 Elm St', 'Ada'],
    [shop, 'Bob,1 Main St,Ada,', 'Bob'],
    [shop, 'Bob,,Ada,2 Elm St', 'Ada'],
    [shop, 'Bob,,,2 Elm St', undefined],
    [shop, 'Bob,,,', 'Bob'],
    [`${shop},first_name`, 'Bob,1 Main St,,2 Elm St,Cy', 'Cy'],
    [stripe, 'Bob,1 Main St,Springfield,Ada,2 Elm St', 'Bob'],
    [stripe, 'Bob,,,Ada,2 Elm St', 'Ada'],
    ['Shipping Name,Street,City', 'Ada,2 Elm St,Springfield', 'Ada'],
    ['Delivery Name,Delivery Address 1,Name,Delivery City', 'Ada,2 Elm St,Bob,Springfield', 'Ada'],
    ['Ship To Name,Ship To Address 1,Ship To City', 'Ada,2 Elm St,Springfield', 'Ada'],
  ] as const)
    it(`has the name of whoever is at its address: ${cells}`, async () =>
      expect(await nameIn(columns, cells)).to.equal(name));

  for (const [columns, cells, names] of [
    ['Vorname;Name', 'Ada;Lovelace', ['Ada Lovelace', 'Ada', 'Lovelace']],
    ['Name;Surname', 'Ada;Lovelace', ['Ada Lovelace', 'Ada', 'Lovelace']],
    ['Name;Vorname', 'von Amberg;Anna Maria', ['Anna Maria von Amberg', 'Anna Maria', 'von Amberg']],
    ['Full Name;First Name', 'Ada Lovelace;ADA', ['Ada Lovelace', 'Ada', 'Lovelace']],
    ['Full Name;Last Name', 'Ada King-Lovelace;Lovelace', ['Ada King-Lovelace', 'Ada', 'King-Lovelace']],
    ['Full Name;First Name', 'Annan;Ann', ['Ann Annan', 'Ann', 'Annan']],
    ['Full Name;First Name', 'Ada;Ada', ['Ada', 'Ada', null]],
    ['Full Name;First Name;Last Name', 'A. Lovelace;Ada;King', ['Ada King', 'Ada', 'King']],
    ['Full Name;First Name', ';Ada', ['Ada', 'Ada', null]],
    ['Full Name;First Name', 'Lovelace Ada;-', ['Lovelace Ada', 'Lovelace', 'Ada']],
    ['Name;First Name', '#1001;Ada', ['Ada', 'Ada', null]],
    ['display_name;first_name', 'countess_al;Ada', ['Ada', 'Ada', null]],
    ['Name', 'Lovelace, Ada', ['Ada Lovelace', 'Ada', 'Lovelace']],
    ['Last name, First name', 'Lovelace,Ada', ['Ada Lovelace', 'Ada', 'Lovelace']],
    ['Nachname, Vorname', 'von Amberg, Anna Maria', ['Anna Maria von Amberg', 'Anna Maria', 'von Amberg']],
    ['Full Name;First Name', 'Lovelace, Ada;Ada', ['Ada Lovelace', 'Ada', 'Lovelace']],
    ['Name', 'King, Martin Luther, Jr.', ['Martin Luther King, Jr.', 'Martin Luther', 'King, Jr.']],
    ['Name', 'NGUYEN, DOAN', ['DOAN NGUYEN', 'DOAN', 'NGUYEN']],
    ['Name', '’t Hooft, Gerard', ['Gerard ’t Hooft', 'Gerard', '’t Hooft']],
    ['Name', 'Nguyen, Vi', ['Vi Nguyen', 'Vi', 'Nguyen']],
    ...[
      'Ada King, Jr.', 'Ada King, jr', 'Ada King, Sr', 'Ada King, II', 'Ada King, III', 'Ada King, Ph.D.', 'Ada King, MD',
      'Ada King, MD, PhD', 'Ada King, MD PhD', 'Ada King, Esq.', 'Ada King, Inc.', 'Ada King, IV', 'Ada King,', 'Ada King, LCSW', 'Ada King, PA-C', 'Ada King, Esquire',
      'Ada King, Jones & Partners LLP',
    ].map((name) => ['Name', name, [name, 'Ada', name.slice(4)]] as const), // prettier-ignore
    ['Name', ', Ada', [', Ada', ',', 'Ada']],
    [
      'Full Name;First Name',
      'King, Countess Augusta;Ada',
      ['Ada King, Countess Augusta', 'Ada', 'King, Countess Augusta'],
    ],
    ['Nachname Vorname;Name', 'Lovelace Ada;Ada Lovelace', ['Ada Lovelace', 'Ada', 'Lovelace']],
  ] as const)
    it(`is a whole name, or the part that another lacks, under ${columns}: ${cells}`, async () => {
      const row = columns.includes(';')
        ? await rowOf(`id;${columns}`, `1;${cells}`)
        : await rowOf(`id;"${columns}"`, `1;"${cells}"`);
      const { name, firstName, lastName } = readContact('contact' in row ? (row.contact as Row) : {});
      expect([name, firstName, lastName]).to.deep.equal(names);
    });

  for (const [column, days, order] of [
    ['Birthday', ['25/12/1987', '05/06/1987'], 'month, day: 5/6 as May 6'],
    ['Hire date', ['25-12-1987'], 'month, day: 5/6 as May 6'],
    ['Anniversaire', ['12/25/1987'], 'day, month: 5/6 as June 5'],
    ['Birthday', ['12.25.1987'], 'day, month: 5/6 as June 5'],
    ['Birthday', ['12/25/1987', '32/32/1987', '1987-12-25'], null],
    ['Phone', ['25-12'], null],
  ] as const)
    it(`may be a day in another order, and that is said of its column: ${column} ${days.join(', ')}`, async () => {
      const unread = {};
      const file = (async function* () {
        yield Buffer.from(`id,${column}\n${days.map((day) => `${day},${day}\n`).join('')}`);
      })();
      for await (const _ of contactRows(file, { key: undefined, keyIsNamed: '', fromLine: 1, unread }));
      const note = `some dates have an impossible month: this column is read as ${order}`;
      expect(unread).to.deep.equal(order === null ? {} : { [`${column}, in part`]: note });
    });

  const springfield = { line1: '2 Elm St', city: 'Springfield', state: 'IL', zip: '62701' };
  for (const columns of [
    'Mailing Street,City,State,Zip',
    'Mailing Address,City,State,Zip',
    'Home Street,City,State,Zip',
    'Street,Ship City,Ship State,Ship Zip',
    'Address,City/Town,State/Region/Province,Zip/Post Code',
    'Street Address,City,State / Province,Postal / Zip Code',
    'Adresse,Ville,État,Code postal',
    'Dirección,Ciudad,Estado/Provincia,Código postal',
    'Address Line 1,Suburb/City,State,Zip/Postcode',
    'Ship To Address 1,Ship To City,Ship To State,Ship To Zip',
  ])
    it(`is one part of an address under ${columns}`, async () => {
      const row = await rowOf(`id,${columns}`, '1,2 Elm St,Springfield,IL,62701');
      expect(row).to.deep.include({ contact: { external_id: '1', address: springfield } });
    });

  for (const [columns, cells, lines] of [
    ['Street Number,Street', '2,Elm St', { line1: '2 Elm St' }],
    ['Straße,Hausnummer', 'Elm St,2', { line1: '2 Elm St' }],
    ['Street Address,House No.', '2 Elm St,2', { line1: '2 Elm St' }],
    ['Street,Street 2,Street 3', '2 Elm St,Suite 4,Box 7', { line1: '2 Elm St', line2: 'Suite 4, Box 7' }],
    ['Address 1,Address 3', '2 Elm St,Box 7', { line1: '2 Elm St', line2: 'Box 7' }],
    ['Street,Apt', '2 Elm St,4B', { line1: '2 Elm St', line2: 'Apt 4B' }],
    ['Street,Apartment', '2 Elm St,Apartment 4', { line1: '2 Elm St', line2: 'Apartment 4' }],
    ['Street,Unit #', '2 Elm St,# 4', { line1: '2 Elm St', line2: 'Unit 4' }],
    ['Street,Suite', '2 Elm St,B-12', { line1: '2 Elm St', line2: 'Suite B-12' }],
    ['Street,Street 2,Apt #', '2 Elm St,Apt 4,4', { line1: '2 Elm St', line2: 'Apt 4' }],
    ['Ship Street,Ship Apt', '2 Elm St,Rear', { line1: '2 Elm St', line2: 'Rear' }],
  ] as const)
    it(`has its street from every column that holds a part of it: ${columns}`, async () => {
      const row = await rowOf(`id,${columns},City,State,Zip`, `1,${cells},Springfield,IL,62701`);
      const address = { ...springfield, ...lines };
      expect(row).to.deep.include({ contact: { external_id: '1', address } });
    });

  const whole = {
    external_id: '1',
    first_name: 'Ada',
    last_name: 'Lovelace',
    phone: '217',
    email: 'ada@example.com',
    address: { ...springfield, country: 'US' },
  };
  for (const columns of [
    'Prenom,Nom,Telephone,Email,Adresse,Ville,Etat,Code postal,Pays',
    'NOMBRE,APELLIDOS,TELEFONO,CORREO ELECTRONICO,DIRECCION,CIUDAD,ESTADO,CODIGO POSTAL,PAIS',
    'vorname,nachname,TELEFON,E-MAIL,STRASSE,ORT,BUNDESLAND,PLZ,LAND',
    'Vorname,Nachname,Telefon,EMail,Strasse,Ort,Bundesland,Postleitzahl,Land',
    'Vorname,Nachname,Telefon,email,STRAẞE,Ort,Bundesland,PLZ,Land',
    'Voornaam,Achternaam,Telefoon,E-mailadres,Adres,Plaats,Provincie,Postcode,Land',
    'Nome,Cognome,Telefono,E-mail,Indirizzo,Città,Provincia,CAP,Paese',
    'Nome,Sobrenome,Telefone,E-mail,Endereço,Cidade,Estado,CEP,País',
    'First name *,Last name *,Phone,E-mail (required),Street *,City *,State (required),ZIP+4,Country',
    'Recipient First Name,Recipient Last Name,Phone,Email,Recipient Address 1,Recipient City,Recipient State,Recipient Zip,Recipient Country',
    'Delivery First Name,Delivery Last Name,Phone,Email,Delivery Street,Delivery City,Delivery State,Delivery Postcode,Delivery Country',
    'FIRSTNAME,LASTNAME,PHONENUMBER,EMAILADDRESS,ADDRESS1,CITY,STATECODE,ZIPCODE,COUNTRYCODE',
    'firstName,lastName,phoneNumber,eMail,streetAddress,city,stateProvince,postalCode,countryCode',
    'FirstName,LastName,Phone,E-Mail,HOMESTREET,HomeCity,HomeState,HomeZIP,HomeCountry',
    'First_Name,Last_Name,Phone_,E_Mail,MailingStreet,MAILINGCITY,MailingState,MAILINGZIPCode,MailingCountry',
  ])
    it(`is known however its column is spelled: ${columns}`, async () => {
      const cells = '1,Ada,Lovelace,217,ada@example.com,2 Elm St,Springfield,IL,62701,US';
      for (const form of ['NFC', 'NFD'] as const)
        expect(await rowOf(`id,${columns}`.normalize(form), cells)).to.deep.include({ contact: whole });
    });

  for (const column of [
    'Adresse de messagerie',
    'Courriel',
    'Correo',
    'Indirizzo email',
    'Endereço de e-mail',
    'Invitee Email',
    'Email (Primary)',
    'Emails',
    'Mail',
  ])
    it(`has the e-mail address under ${column}`, async () =>
      expect(await rowOf(`id,${column}`, '1,ada@example.com')).to.deep.include({
        contact: { external_id: '1', email: 'ada@example.com' },
      }));

  it('is known by an e-mail address under whatever name, and has it then', async () => {
    const emailOf = async (id: string, email = '') => {
      const row = await rowOf('external_id,email', `${id},${email}`);
      return 'contact' in row ? (row.contact as Row)['email'] : row;
    };
    expect(await emailOf('ada@example.com')).to.equal('ada@example.com');
    expect(await emailOf('ada@example.com', 'bo@example.com')).to.equal('bo@example.com');
    for (const id of ['ada@crm', '@ada.lovelace', 'a@b.test@c.test', '17'])
      expect(await emailOf(id)).to.equal(undefined);
  });

  it('is in no address that is a mixture of three', async () => {
    const row = await rowOf('id,Home Street,Work Street,City', '1,2 Elm St,1 Main St,Springfield');
    expect(row).to.deep.include({ contact: { external_id: '1', address: { line1: '2 Elm St' } } });
  });

  for (const column of ['Do Not Mail', 'Email Opt Out', 'HasOptedOutOfEmail', 'Unsubscribed'])
    it(`is opted out by no column ${column}, and that is said with what to do`, async () => {
      const unread: Row = {};
      const file = (async function* () {
        yield Buffer.from(`id,${column}\n1,yes\n`);
      })();
      for await (const _ of contactRows(file, { key: undefined, keyIsNamed: '', fromLine: 1, unread }));
      expect(unread[column]).to.include('put their addresses on the do-not-mail list');
    });

  it('is the next of two with the e-mail address where the first is empty, or none', async () => {
    const file = (async function* () {
      yield Buffer.from('\u200bexternal_id;name;Work Email;Home\u00a0Email\n');
      yield Buffer.from('1;Ada;;ada@example.com\n1;Ada;n/a;ada@example.com\n1;Ada;ada@example.com;no@x.de\n');
    })();
    const unread = {};
    let rows = 0;
    for await (const row of contactRows(file, { key: undefined, keyIsNamed: '', fromLine: 1, unread })) {
      rows += 1;
      expect(row).to.deep.include({
        contact: { external_id: '1', name: 'Ada', email: 'ada@example.com' },
      });
    }
    expect(rows).to.equal(3);
    expect(unread).to.deep.equal({ 'Home Email': 'email is read from Work Email first' });
  });

  it('is the one e-mail address that may hide an opt-out, whatever another column has', async () => {
    const hidden = ['ada(at)example.com', 'ada＠example.com', 'ada [at] example.com'];
    const file = (async function* () {
      yield Buffer.from('external_id,name,email,primary_email\n');
      for (const email of hidden)
        yield Buffer.from(`bob@example.com,Ada,${email},n/a\nb,Ada,${email},bob@x.de\n`);
    })();
    const found = [];
    for await (const row of contactRows(file, { key: undefined, keyIsNamed: '', fromLine: 1, unread: {} }))
      found.push('contact' in row ? Reflect.get(row.contact, 'email') : row.problem);
    expect(found).to.deep.equal(hidden.flatMap((email) => [email, email]));
  });

  for (const [zip, state] of [
    ['2701', 'IL'],
    ['213', 'MA'],
    ['0213', 'MA'],
    ['213-1234', 'Massachusetts'],
    ['0901', 'PR'],
    ['090', 'PR'],
    ['9011', 'PR'],
    ['80', 'VI'],
    ['961', 'AE'],
    ['901', ''],
  ] as const)
    it(`has no ZIP code that is guessed: ${zip} in ${state}`, async () => {
      const contact = await read({ zip, state });
      expect(() => readContact(contact)).to.throw('ZIP');
    });

  it('loses the apostrophe before what looks like a formula, and no other', async () =>
    expect(await read({ external_id: "'=1+1", name: "'O" })).to.include({ external_id: '=1+1', name: "'O" }));

  for (const [column, spoiled, how] of [
    ['external_id', '9,0072E+16', 'rounded'],
    ['external_id', '9.00719925474099E16', 'rounded'],
    ['Record ID', '#N/A', 'an error in place of'],
    ['Name', '#N/A', 'an error in place of'],
    ['Vorname', '#NV', 'an error in place of'],
    ['Nom', '#VALEUR!', 'an error in place of'],
    ['Calle', '#¡REF!', 'an error in place of'],
    ['Apellidos', '#¿NOMBRE?', 'an error in place of'],
    ['City', '#REF!', 'an error in place of'],
    ['State', '#N/D', 'an error in place of'],
    ['Work Email', '#NAME?', 'an error in place of'],
    ['ZIP', '#DIV/0!', 'an error in place of'],
    ['Birthday', '########', 'an error in place of'],
    ['Phone', '1.22E+10', 'rounded'],
    ['Mobile', '4,91512E+11', 'rounded'],
  ] as const)
    it(`that a spreadsheet spoiled spoils its row: ${column} ${spoiled}`, async () => {
      const [head, cells] = /id$/i.test(column) ? [column, spoiled] : [`id;${column}`, `1;${spoiled}`];
      expect(await rowOf(`${head};x`, `${cells};`))
        .to.have.property('problem')
        .that.equals(
          how === 'rounded'
            ? `a spreadsheet has rounded its ${column}. Keep that column as text`
            : `a spreadsheet has ${how} its ${column}: ${spoiled}`,
        );
    });

  it('that a spreadsheet spoiled spoils nothing where it is not read', async () => {
    const row = await rowOf('id;Name;Shoe size', '1;Ada;#N/A');
    expect(row).to.deep.include({ contact: { external_id: '1', name: 'Ada' } });
  });

  for (const name of ['#1', 'Yes!', '#N/A Ltd', 'E+', '7E', '#Party!'])
    it(`has the company ${name}`, async () =>
      expect(await rowOf('id;Company', `1;${name}`)).to.have.nested.property('contact.company', name));

  for (const title of [
    'Mr',
    'Mrs.',
    'Ms.',
    'MISS',
    'mx',
    'Dr.',
    'Prof. Dr.',
    'Mr. & Mrs.',
    'Herr',
    'Frau',
    'Sra.',
  ])
    it(`has no job title that is an honorific: ${title}`, async () =>
      expect(await rowOf('id;Title', `1;${title}`)).to.deep.include({ contact: { external_id: '1' } }));

  for (const title of ['Countess', 'Professor', 'Dr. of Engines', 'MD', 'Sr. Engineer'])
    it(`has the job title ${title}`, async () =>
      expect(await rowOf('id;Title', `1;${title}`)).to.have.nested.property('contact.job_title', title));

  for (const whole of ['9007199254740993', '12E5', '#1001', '#N/A-1'])
    it(`has the external_id ${whole}`, async () =>
      expect(await read({ external_id: whole })).to.include({ external_id: whole }));
});
