// isola plugin …
import { adminVerbs } from './plugin-admin.mjs'

export default { noun: 'plugin', verbs: { ...adminVerbs } }
