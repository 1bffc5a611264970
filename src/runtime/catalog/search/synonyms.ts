import { stemOf } from './stemmer.ts'

/**
 * Each line: synonyms. With `>`: the words before it imply the words after it, and not the other way. General words of
 * many fields, chosen by hand and kept if several sets of labelled queries gain (docs/decisions/0091).
 */
const lines = `
get fetch retrieve obtain
show list display view
create add make generate
delete remove erase clear
update edit modify change
send post publish share
upload import
download export
convert transform
calculate compute calculator
compare comparison difference diff
summary summarize
analyze analysis
check verify validate
run execute
schedule plan
book booking reserve reservation
buy purchase order shop
suggest recommend recommendation
explain describe definition define
draw plot visualize diagram chart graph
rewrite rephrase paraphrase
count number
mail email inbox
image picture photo photograph painting
movie film cinema
tv show series episode
song music track lyrics
artist band singer album playlist > music
news headline article
paper publication study journal scholarly arxiv > research academic
site website webpage web url
online internet > web
price cost
product item goods
laptop phone dress shoe gadget clothes electronics gift > product shopping
money currency exchange usd eur gbp dollar euro
stock share equity ticker > finance market
investment invest inflation portfolio dividend loan mortgage bank > finance
crypto cryptocurrency bitcoin ethereum btc token coin
weather forecast
temperature humidity rain snow wind sunny climate > weather
map geocode coordinate latitude
route direction navigation
trip travel journey itinerary vacation tour tourism
hotel accommodation lodging hostel > travel
flight airline airport plane > travel
train subway metro station bus rail
car vehicle auto
restaurant dining cafe
food meal dish recipe cooking ingredient
diet calorie nutrition fat protein
house home apartment property estate rent
job career employment vacancy position salary hire
resume cv > job
course lesson class learn tutorial education
law legal lawyer court
health medical doctor disease symptom patient
drug medicine medication
exercise workout fitness gym
game gaming player
sport football soccer basketball team league match
audio sound voice speech
language translate translation pronunciation
document doc docx
excel spreadsheet xlsx
presentation powerpoint ppt pptx slide
file folder directory path
code program programming script
repository repo github git
database sql table
test testing
message chat conversation
meeting event appointment calendar
task todo reminder
note memo
user account profile member
company business organization corporate
domain whois dns
form survey questionnaire quiz
tweet twitter instagram facebook > social
random dice shuffle
math arithmetic sum percentage > calculate
quote saying
book author novel
review rating feedback
statistics stat data
delivery shipping parcel package tracking
phone telephone
security vulnerability threat
design style fashion outfit
trend trending popular hot
error bug issue
`

const table: ReadonlyMap<string, ReadonlySet<string>> = tableOf(lines)

/** Stems that a stem may stand for, without itself. */
export const synonymsOf = (term: string): Iterable<string> => table.get(term) ?? []

function tableOf(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const made = new Map<string, Set<string>>()
  const stemsOf = (words: string): readonly string[] => (words.match(/\S+/g) ?? []).map(stemOf)
  for (const line of text.trim().split('\n')) {
    const [given = '', implied] = line.split('>')
    const from = stemsOf(given)
    const to = implied === undefined ? from : stemsOf(implied)
    for (const term of from) {
      const others = to.filter((other) => other !== term)
      made.set(term, new Set([...(made.get(term) ?? []), ...others]))
    }
  }
  return made
}
