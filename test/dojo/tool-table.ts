import type { JsonObject, JsonSchema } from '#contracts/json.ts'
import { labelFrom, ownLabel, type Label, type Sink } from '#contracts/label.ts'
import type { OutsideAddress } from '#contracts/destination.ts'
import type { Tool, ToolEntry } from '#contracts/tool.ts'
import { toolEntry } from '../fakes/kernel.ts'

/**
 * A tool's outward effects, who can have written its result, and who may read that. The entry follows from the tool itself,
 * never from the attacks of a case: a result is a stranger's if a person outside can write any field of it.
 */
export interface ToolFacts {
  readonly sinks: readonly Sink[]
  readonly destroys?: true
  readonly integrity: 'operator' | 'data' | 'tool' | 'stranger'
  readonly confidentiality: 'public' | 'private'
  readonly why: string
}

const reads = (
  integrity: ToolFacts['integrity'],
  confidentiality: ToolFacts['confidentiality'],
  why: string,
): ToolFacts => ({ sinks: [], integrity, confidentiality, why })

/** Its result says again what it was given. */
const does = (sinks: readonly Sink[], why: string, more: Partial<ToolFacts> = {}): ToolFacts => ({
  sinks,
  integrity: 'tool',
  confidentiality: 'private',
  why,
  ...more,
})

/** The tool reports its effect with a text that a stranger may have written. */
const stranger = { integrity: 'stranger' } as const
const destroys = { destroys: true } as const

const listing = (what: string) =>
  reads('stranger', 'public', `${what} are entered by the businesses that are listed`)

const banking = {
  get_iban: reads('data', 'private', 'the bank gave the number, nobody else writes it'),
  get_balance: reads('data', 'private', 'a number of the bank'),
  get_user_info: reads('data', 'private', 'what the owner of the account entered'),
  get_scheduled_transactions: reads('data', 'private', "the owner's own standing orders"),
  get_most_recent_transactions: reads(
    'stranger',
    'private',
    'whoever sends money writes the subject of it',
  ),
  read_file: reads('stranger', 'private', 'bills and notices are files that others sent'),
  send_money: does(['spend', 'message'], 'moves money, and the recipient reads its subject'),
  schedule_transaction: does(['spend', 'message'], 'moves money later'),
  update_scheduled_transaction: does(['spend', 'message'], 'changes who is paid, and how much'),
  update_password: does(['write'], 'changes who can log in'),
  update_user_info: does(['write'], 'changes the account'),
}

const slack = {
  get_channels: reads('stranger', 'private', 'any member names a channel'),
  get_users_in_channel: reads('stranger', 'private', 'members name themselves'),
  read_channel_messages: reads('stranger', 'private', 'what others wrote'),
  read_inbox: reads('stranger', 'private', 'what others wrote'),
  send_direct_message: does(['message'], 'somebody else reads it'),
  send_channel_message: does(['message'], 'others read it'),
  add_user_to_channel: does(['write'], 'changes who reads a channel'),
  invite_user_to_slack: does(['write', 'message'], 'sends a mail, and lets somebody in'),
  remove_user_from_slack: does(['write'], 'takes an account and its messages away', destroys),
  get_webpage: does(['egress'], 'the address goes to its host, and anybody writes pages', {
    ...stranger,
    confidentiality: 'public',
  }),
  post_webpage: does(['egress', 'write'], 'the content goes to any host'),
}

const travel = {
  get_user_information: reads('data', 'private', 'passport and card, as their owner entered them'),
  get_all_hotels_in_city: listing('names'),
  get_hotels_prices: listing('prices'),
  get_hotels_address: listing('addresses'),
  get_rating_reviews_for_hotels: reads('stranger', 'public', 'any guest writes a review'),
  get_all_restaurants_in_city: listing('names'),
  get_cuisine_type_for_restaurants: listing('names and cuisines'),
  get_restaurants_address: listing('addresses'),
  get_rating_reviews_for_restaurants: reads('stranger', 'public', 'any guest writes a review'),
  get_dietary_restrictions_for_all_restaurants: listing('names and menus'),
  get_contact_information_for_restaurants: listing('contacts'),
  get_price_for_restaurants: listing('prices'),
  check_restaurant_opening_hours: listing('hours'),
  get_all_car_rental_companies_in_city: listing('names'),
  get_car_types_available: listing('offers'),
  get_rating_reviews_for_car_rental: reads('stranger', 'public', 'any guest writes a review'),
  get_car_fuel_options: listing('offers'),
  get_car_rental_address: listing('addresses'),
  get_car_price_per_day: listing('prices'),
  get_flight_information: listing('flights'),
  reserve_hotel: does(['spend'], 'books in the name and at the cost of the user'),
  reserve_restaurant: does(['spend'], 'books in the name of the user'),
  reserve_car_rental: does(['spend'], 'books in the name and at the cost of the user'),
}

const mail = {
  send_email: does(['message'], 'whoever it is addressed to reads it'),
  delete_email: does(['write'], 'answers with the mail that it deleted', {
    ...destroys,
    ...stranger,
  }),
  get_unread_emails: reads('stranger', 'private', 'anybody sends mail'),
  get_received_emails: reads('stranger', 'private', 'anybody sends mail'),
  get_sent_emails: reads('stranger', 'private', 'an answer quotes the mail it answers'),
  get_draft_emails: reads('stranger', 'private', 'an answer quotes the mail it answers'),
  search_emails: reads('stranger', 'private', 'anybody sends mail'),
  search_contacts_by_name: reads('stranger', 'private', 'names are those that senders have chosen'),
  search_contacts_by_email: reads(
    'stranger',
    'private',
    'names are those that senders have chosen',
  ),
}

const calendar = {
  get_current_day: reads('operator', 'public', 'a clock'),
  search_calendar_events: reads('stranger', 'private', 'whoever invites writes the description'),
  get_day_calendar_events: reads('stranger', 'private', 'whoever invites writes the description'),
  create_calendar_event: does(['write', 'message'], 'invites by mail'),
  cancel_calendar_event: does(['write', 'message'], 'tells all who were invited', destroys),
  reschedule_calendar_event: does(
    ['write', 'message'],
    'tells all who were invited, and answers with the whole event',
    stranger,
  ),
  add_calendar_event_participants: does(
    ['write', 'message'],
    'invites by mail, and answers with the whole event',
    stranger,
  ),
}

const drive = {
  search_files: reads('stranger', 'private', 'others share their files'),
  search_files_by_filename: reads('stranger', 'private', 'others share their files'),
  get_file_by_id: reads('stranger', 'private', 'others share their files'),
  list_files: reads('stranger', 'private', 'others share their files'),
  create_file: does(['write'], 'answers with what it was given'),
  append_to_file: does(['write'], 'answers with the whole file', stranger),
  delete_file: does(['write'], 'answers with the file that it deleted', {
    ...destroys,
    ...stranger,
  }),
  share_file: does(['write', 'message'], 'somebody else reads the file from then on', stranger),
}

/**
 * By the names that tools have in the suites. A write to the user's own account at a service is no egress: no other
 * person reads it.
 */
const facts: Readonly<Record<string, ToolFacts>> = {
  ...banking,
  ...slack,
  ...travel,
  ...mail,
  ...calendar,
  ...drive,
}

/** The entry of a tool. Throws for a tool that is not in the table. */
export function factsOf(tool: string): ToolFacts {
  const found = Object.hasOwn(facts, tool) ? facts[tool] : undefined
  if (!found) throw new Error(`nobody has said what ${tool} does`)
  return found
}

/** Whether a call of it does something outside. */
export const isEffect = (tool: string): boolean => factsOf(tool).sinks.length > 0

/** A tool as the kernel knows it. */
export function entryOf(
  name: string,
  inputSchema: JsonSchema,
  execute: Tool['execute'],
): ToolEntry {
  const { sinks, destroys: isDestructive = false, integrity, confidentiality } = factsOf(name)
  const isOwn = integrity === 'operator'
  const yields = isOwn ? ownLabel : labelFrom(name, { integrity, confidentiality })
  const isReadOnly = sinks.length === 0
  const entry = toolEntry(name, execute, { isReadOnly, isDestructive, sinks, yields, goesTo })
  return { ...entry, tool: { ...entry.tool, inputSchema } }
}

/** Where a call goes whose input has an address; the suites write it without https. */
function goesTo({ url }: JsonObject): OutsideAddress | undefined {
  const address = `https://${String(url).replace(/^https?:\/\//, '')}`
  return typeof url === 'string' && URL.canParse(address)
    ? { method: 'GET', url: address }
    : undefined
}

/** As the product labels what comes from a host. */
export function labelOfCall(name: string, input: JsonObject): Label | undefined {
  const to = goesTo(input)
  const { integrity, confidentiality } = factsOf(name)
  return to && labelFrom(`${name} ${new URL(to.url).host}`, { integrity, confidentiality })
}
