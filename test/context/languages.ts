import type { Draw } from './draw.ts'

/** How people and agents of one language talk about a thing (`s`) and a value (`v`). */
export interface Language {
  readonly name: string
  /** A thing has a name of two of these, so that no two of a transcript share it. */
  readonly subjects: readonly [readonly string[], readonly string[]]
  readonly join: (first: string, second: string) => string
  readonly date: (day: number, month: number, year: number) => string
  readonly people: readonly string[]
  readonly recall: Readonly<Record<RecallForm, (s: string, v: string) => string>>
  readonly preference: (count: string) => string
  readonly constraint: (time: string) => string
  readonly correction: (s: string, v: string) => string
  readonly question: (s: string) => string
  readonly answer: (s: string, v: string) => string
  readonly denial: (s: string, v: string) => string
  readonly next: (s: string, v: string) => string
  readonly done: (s: string) => string
  readonly tryAgain: string
  /** Small talk that is never asked about later. */
  readonly user: readonly string[]
  readonly agent: readonly string[]
}
export type RecallForm = 'date' | 'amount' | 'name' | 'number' | 'constraint' | 'preference'

const english: Language = {
  name: 'en',
  subjects: [
    'Amber Brass Copper Crimson Dusty Ember Frosty Gentle Hollow Ivory Jade Lunar Misty Noble Quiet Silver'.split(
      ' ',
    ),
    'Badger Beacon Canyon Cedar Falcon Harbor Heron Lantern Meadow Otter Pebble Quarry Ridge Sparrow Tundra Willow'.split(
      ' ',
    ),
  ],
  join: (a, b) => `${a} ${b}`,
  date: (d, m, y) =>
    `${d} ${'January February March April May June July August September October November December'.split(' ')[m - 1]} ${y}`,
  people: [
    'Imogen Hartley',
    'Tobias Okafor',
    'Priya Raman',
    'Callum Fraser',
    'Nadia Petrov',
    'Grace Oyelaran',
  ],
  recall: {
    date: (s, v) => `${s} has to be finished by ${v}, not a day later.`,
    amount: (s, v) => `We may spend ${v} on ${s} and no more.`,
    name: (s, v) => `If anything about ${s} is unclear, ${v} decides.`,
    number: (s, v) => `The reference for ${s} is ${v}, please use it everywhere.`,
    constraint: (s, v) => `One thing about ${s}: ${v}.`,
    preference: (s, v) => `When you report on ${s}, ${v}.`,
  },
  preference: (n) => `keep it under ${n} words and put the numbers first`,
  constraint: (t) => `nothing may be changed there after ${t}`,
  correction: (s, v) => `Sorry, I was wrong about ${s} before. It is ${v}; forget what I said.`,
  question: (s) => `How should I go on with ${s}? There is more than one way.`,
  answer: (s, v) => `For ${s} take ${v}.`,
  denial: (s, v) => `No, not for ${s}: ${v} has to come first.`,
  next: (s, v) => `Next, as soon as this is through, I will go back to ${s} and run it with ${v}.`,
  done: (s) => `That settles ${s}; nothing is left to do there.`,
  tryAgain: 'That broke off. Please try again.',
  user: [
    'Thanks, that helps.',
    'Could you look at that more closely?',
    'Go on, please.',
    'I do not quite see why, but fine.',
    'And what about the rest of it?',
    'My colleagues asked about this too.',
    'It does not have to be perfect. 👍🏽',
  ],
  agent: [
    'Let me look at that.',
    'I will check what is there first.',
    'This looks as expected.',
    'There is one oddity here that I want to understand.',
    'Two things stand out, the second one matters more.',
    'I have what I need for this part.',
  ],
}

const german: Language = {
  name: 'de',
  subjects: [
    'Grauer Stiller Alter Blauer Krummer Heller Kühler Müder Roter Sanfter Schmaler Später Süßer Tiefer Weißer Zäher'.split(
      ' ',
    ),
    'Ahorn Birkenhof Bussard Dachs Eichgrund Flößer Fuchsbau Hügel Kranich Lärchweg Marder Nordwind Rehbock Steinbruch Uhu Wiesengrund'.split(
      ' ',
    ),
  ],
  join: (a, b) => `${a} ${b}`,
  date: (d, m, y) =>
    `${d}. ${'Januar Februar März April Mai Juni Juli August September Oktober November Dezember'.split(' ')[m - 1]} ${y}`,
  people: [
    'Jürgen Weißmüller',
    'Annelie Größchen',
    'Käthe Brünings',
    'Sönke Thießen',
    'Bärbel Hoß',
  ],
  recall: {
    date: (s, v) => `„${s}“ muss bis zum ${v} fertig sein, keinen Tag später.`,
    amount: (s, v) => `Für „${s}“ dürfen wir höchstens ${v} ausgeben.`,
    name: (s, v) => `Wenn bei „${s}“ etwas unklar ist, entscheidet ${v}.`,
    number: (s, v) => `Das Aktenzeichen zu „${s}“ lautet ${v}, bitte überall angeben.`,
    constraint: (s, v) => `Noch etwas zu „${s}“: ${v}.`,
    preference: (s, v) => `Wenn du über „${s}“ berichtest: ${v}.`,
  },
  preference: (n) => `höchstens ${n} Wörter, die Zahlen zuerst`,
  constraint: (t) => `nach ${t} Uhr darf dort nichts mehr geändert werden`,
  correction: (s, v) =>
    `Entschuldige, zu „${s}“ habe ich mich geirrt: Richtig ist ${v}, das andere gilt nicht mehr.`,
  question: (s) => `Wie soll ich bei „${s}“ weitermachen? Es gibt mehrere Wege.`,
  answer: (s, v) => `Bei „${s}“ nimm bitte ${v}.`,
  denial: (s, v) => `Nein, bei „${s}“ nicht: Zuerst muss ${v} erledigt sein.`,
  next: (s, v) =>
    `Als Nächstes, sobald das durch ist, gehe ich zurück zu „${s}“ und lasse es mit ${v} laufen.`,
  done: (s) => `Damit ist „${s}“ erledigt.`,
  tryAgain: 'Das ist abgebrochen. Bitte noch einmal.',
  user: [
    'Danke, das hilft.',
    'Schau dir das bitte genauer an.',
    'Mach ruhig weiter.',
    'Und was ist mit dem Rest?',
    'Die Prüfungsstelle fragt übrigens auch danach.',
    'Das muss nicht schön sein.',
  ],
  agent: [
    'Ich sehe mir das an.',
    'Zuerst prüfe ich, was schon da ist.',
    'Das sieht aus wie erwartet.',
    'Eine Sache fällt hier aus dem Rahmen.',
    'Für diesen Teil habe ich alles.',
  ],
}

const spanish: Language = {
  name: 'es',
  subjects: [
    'Arroyo Bosque Camino Cerro Estación Faro Jardín Lago Molino Muelle Parque Puente Refugio Sendero Torre Valle'.split(
      ' ',
    ),
    'Antiguo Azul Claro Dormido Frío Lejano Manso Nuevo Olvidado Pequeño Quieto Rojizo Seco Sereno Sombrío Verde'.split(
      ' ',
    ),
  ],
  join: (a, b) => `${a} ${b}`,
  date: (d, m, y) =>
    `${d} de ${'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre'.split(' ')[m - 1]} de ${y}`,
  people: ['Íñigo Arrúe', 'Begoña Núñez', 'Lucía Peñalver', 'Ramón Güell', 'Ángela Muñiz'],
  recall: {
    date: (s, v) => `«${s}» tiene que estar listo el ${v}, ni un día más tarde.`,
    amount: (s, v) => `En «${s}» podemos gastar ${v} como mucho.`,
    name: (s, v) => `Si algo de «${s}» no está claro, decide ${v}.`,
    number: (s, v) => `La referencia de «${s}» es ${v}; úsala siempre.`,
    constraint: (s, v) => `Otra cosa sobre «${s}»: ${v}.`,
    preference: (s, v) => `Cuando informes sobre «${s}», ${v}.`,
  },
  preference: (n) => `no pases de ${n} palabras y pon primero las cifras`,
  constraint: (t) => `no se puede cambiar nada después de las ${t}`,
  correction: (s, v) => `Perdón, me equivoqué con «${s}»: lo correcto es ${v}, olvida lo anterior.`,
  question: (s) => `¿Cómo sigo con «${s}»? Hay más de una manera.`,
  answer: (s, v) => `Para «${s}» usa ${v}.`,
  denial: (s, v) => `No, en «${s}» no: primero hace falta ${v}.`,
  next: (s, v) => `A continuación, cuando termine esto, volveré a «${s}» y lo ejecutaré con ${v}.`,
  done: (s) => `Con esto «${s}» queda cerrado.`,
  tryAgain: 'Se ha cortado. Inténtalo otra vez, por favor.',
  user: [
    'Gracias, me sirve.',
    '¿Puedes mirarlo más despacio?',
    'Sigue, por favor.',
    '¿Y lo demás?',
    'Mis compañeros también preguntan por esto.',
  ],
  agent: [
    'Voy a mirarlo.',
    'Primero compruebo qué hay.',
    'Parece lo esperado.',
    'Aquí hay algo raro que quiero entender.',
    'Ya tengo lo necesario para esta parte.',
  ],
}

const japanese: Language = {
  name: 'ja',
  subjects: [
    '青い 赤い 古い 静かな 深い 遠い 白い 小さな 明るい 丸い 涼しい 細い 若い 眠い 硬い 淡い'.split(
      ' ',
    ),
    '鷺 灯台 砂丘 竹林 峠 港 泉 梟 石橋 水車 桟橋 湖畔 松原 渓谷 茶屋 風車'.split(' '),
  ],
  join: (a, b) => `${a}${b}`,
  date: (d, m, y) => `${y}年${m}月${d}日`,
  people: ['渡邉 智子', '髙橋 健一', '斎藤 美咲', '長谷川 翔', '小野寺 葵'],
  recall: {
    date: (s, v) => `「${s}」は${v}までに必ず終わらせてください。`,
    amount: (s, v) => `「${s}」に使えるのは最大で${v}です。`,
    name: (s, v) => `「${s}」で不明な点があれば、${v}さんが決めます。`,
    number: (s, v) => `「${s}」の整理番号は${v}です。必ず書いてください。`,
    constraint: (s, v) => `「${s}」について一つ。${v}。`,
    preference: (s, v) => `「${s}」の報告は、${v}。`,
  },
  preference: (n) => `${n}文字以内で、数字を先に書いてください`,
  constraint: (t) => `${t}以降は何も変更しないでください`,
  correction: (s, v) =>
    `すみません、「${s}」は間違えました。正しくは${v}です。前のは忘れてください。`,
  question: (s) => `「${s}」はどう進めますか。方法がいくつかあります。`,
  answer: (s, v) => `「${s}」は${v}でお願いします。`,
  denial: (s, v) => `いいえ、「${s}」はまだです。先に${v}が必要です。`,
  next: (s, v) => `次に、これが終わったら「${s}」に戻り、${v}で実行します。`,
  done: (s) => `これで「${s}」は完了です。`,
  tryAgain: '途中で止まりました。もう一度お願いします。',
  user: [
    'ありがとうございます。助かります。',
    'もう少し詳しく見てもらえますか。',
    '続けてください。',
    '残りはどうなりましたか。',
    '同僚も気にしています。',
  ],
  agent: [
    '確認します。',
    'まず現状を調べます。',
    '想定どおりです。',
    '一つ気になる点があります。',
    'この部分に必要な情報は揃いました。',
  ],
}

const arabic: Language = {
  name: 'ar',
  subjects: [
    'بلشون جسر حقل خليج رصيف زورق سهل شراع طاحونة عين قلعة كرم مرفأ منارة نخيل وادي'.split(' '),
    'أبيض أخضر أزرق بعيد جديد خفيف دافئ رحب صامت صغير ضيق عتيق عميق قديم لطيف هادئ'.split(' '),
  ],
  join: (a, b) => `${a} ${b}`,
  date: (d, m, y) =>
    `${d} ${'يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر'.split(' ')[m - 1]} ${y}`,
  people: ['ليلى الحدّاد', 'يوسف القاسم', 'سُها منصور', 'عمر الخطيب', 'رِيم الشامي'],
  recall: {
    date: (s, v) => `يجب أن ينتهي «${s}» قبل ${v} دون أي تأخير.`,
    amount: (s, v) => `لا ننفق على «${s}» أكثر من ${v}.`,
    name: (s, v) => `إن كان في «${s}» ما ليس واضحًا فالقرار عند ${v}.`,
    number: (s, v) => `رقم «${s}» المرجعي هو ${v}، فاذكره دائمًا.`,
    constraint: (s, v) => `أمر آخر عن «${s}»: ${v}.`,
    preference: (s, v) => `عندما تكتب عن «${s}»، ${v}.`,
  },
  preference: (n) => `لا تتجاوز ${n} كلمة وابدأ بالأرقام`,
  constraint: (t) => `لا يُغيَّر شيء بعد الساعة ${t}`,
  correction: (s, v) => `عذرًا، أخطأت في «${s}»: الصحيح ${v}، وانسَ ما قلته قبل ذلك.`,
  question: (s) => `كيف أتابع مع «${s}»؟ هناك أكثر من طريقة.`,
  answer: (s, v) => `في «${s}» اختر ${v}.`,
  denial: (s, v) => `لا، ليس في «${s}»: يجب إتمام ${v} أولًا.`,
  next: (s, v) => `بعد الانتهاء من هذا سأعود إلى «${s}» وأشغّله مع ${v}.`,
  done: (s) => `بهذا اكتمل «${s}».`,
  tryAgain: 'توقّف العمل. حاول مرة أخرى من فضلك.',
  user: [
    'شكرًا، هذا مفيد.',
    'هل يمكنك النظر في ذلك بدقة أكبر؟',
    'تابع من فضلك.',
    'وماذا عن الباقي؟',
    'زملائي يسألون عن هذا أيضًا.',
  ],
  agent: [
    'سأنظر في ذلك.',
    'أتحقق أولًا مما هو موجود.',
    'هذا كما هو متوقع.',
    'هناك أمر غريب أريد فهمه.',
    'لديّ ما يكفي لهذا الجزء.',
  ],
}

const all = [english, german, spanish, japanese, arabic]

/** Two in five speak English, the rest is even. */
export const pickLanguage = (draw: Draw): Language =>
  draw.chance(0.4) ? english : draw.pick(all.slice(1))
