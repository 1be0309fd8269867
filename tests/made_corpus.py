"""A made corpus: some three hundred documents in English, Chinese and Hindi, the same on every machine.

Sentences are put together from hand-written patterns by plain arithmetic. Into them go what a build has to deal with:
copies, near copies, personal data, a protected text, relatives, broken and blank lines.
"""

from __future__ import annotations

import json

from conftest import Corpus, raw_line

PATTERNS = {
    "en": [
        "The {0} of the old {1} was mended in spring, and the people who did the work sang all day.",
        "Nobody in the village would believe that a {0} could be kept in the {1} for so long.",
        "She wrote to her sister that the {0} had arrived and that it stood beside the {1}.",
        "When the rain came, they carried every {0} into the {1} and waited for the evening.",
        "A {0} is heavier than it looks, which is why two of us had to lift it over the {1}.",
        "The teacher drew a {0} on the board and asked what it had to do with a {1}.",
        "In the second year the price of a {0} fell, but the {1} stayed as dear as ever.",
        "He has a habit of leaving the {0} where it is and of looking for the {1} instead.",
        "There was a {0} in the picture, half hidden behind the {1} and covered with dust.",
        "To reach the station you walk past the {0} and turn left at the {1} with the green roof.",
    ],
    "zh": [
        "村口的{0}在春天修好了，干活的人们一边唱歌一边把{1}搬到了屋后。",
        "没有人相信一个{0}可以在{1}里放那么久，连老师傅都摇头。",
        "她写信告诉妹妹，{0}已经送到，现在就摆在{1}旁边。",
        "下雨的时候，大家把每一个{0}都搬进{1}，然后坐着等天黑。",
        "这个{0}比看上去要重得多，所以我们两个人才把它抬过了{1}。",
        "老师在黑板上画了一个{0}，问同学们它和{1}有什么关系。",
        "到了第二年，{0}便宜了不少，可是{1}还是和从前一样贵。",
        "他总是把{0}留在原处，反而到处去找那个{1}，谁劝也没有用。",
        "照片里有一个{0}，一半被{1}挡住，上面落满了灰尘。",
        "去车站要先经过{0}，再在那座绿屋顶的{1}前面向左转。",
    ],
    "hi": [
        "गाँव का पुराना {0} इस वसंत में ठीक किया गया और काम करने वाले लोग दिन भर {1} के पास गाते रहे।",
        "किसी को विश्वास नहीं था कि एक {0} इतने लंबे समय तक {1} में रखा जा सकता है।",
        "उसने अपनी बहन को लिखा कि {0} आ गया है और अब वह {1} के बगल में रखा है।",
        "जब बारिश आई तो उन्होंने हर {0} को {1} के भीतर रख दिया और शाम होने की प्रतीक्षा की।",
        "यह {0} देखने में जितना हल्का है उतना है नहीं, इसलिए हम दोनों ने उसे {1} के ऊपर से उठाया।",
        "अध्यापक ने तख्ते पर एक {0} बनाया और पूछा कि उसका {1} से क्या संबंध है।",
        "दूसरे वर्ष {0} का दाम गिर गया लेकिन {1} पहले जैसा ही महँगा रहा।",
        "चित्र में एक {0} था जो आधा {1} के पीछे छिपा हुआ था और धूल से ढका था।",
    ],
}
THINGS = {
    "en": "lamp kettle bridge ladder mirror orchard violin basket chimney saddle anchor drum loom bell rug jar".split(),
    "zh": "灯笼 水壶 石桥 梯子 镜子 果园 提琴 篮子 烟囱 马鞍 铁锚 大鼓 织机 铜钟 地毯 木桶".split(),
    "hi": "दीपक बर्तन पुल संदूक दर्पण बगीचा सितार टोकरा चूल्हा रथ लंगर ढोल करघा घंटा कालीन पीपा".split(),
}
# fourteen tokens and more: whoever shares thirteen in a row with it is contaminated
PROTECTED = (
    "Which of the seven lighthouses on the northern coast was the last one to be lit by hand, and in which year?"
)
PII = [
    "Write to keeper{0}@example.com if the lamp goes out.",
    "请发邮件到bell{0}@example.org说明情况。",
    "The gateway answers at 192.0.2.{0} every morning.",
    "कार्ड 4111 1111 1111 1111 पर नाम लिखा था।",
]
BROKEN = [
    b"",
    b" \t ",
    b"\xff\xfe not text",
    b'{"text": "cut off',
    b'{"url": "https://example.org/a", "fetched_at": "2026-01-02T03:04:05Z", "license_spdx": "CC0-1.0"}',
    raw_line("\u200b \n"),
    raw_line("an other licence", license_spdx="MIT"),
]


def text(lang: str, i: int, sentences: int = 7) -> str:
    """Return document i of a language: so many sentences, no pattern twice."""
    patterns, things = PATTERNS[lang], THINGS[lang]
    found = []
    for j in range(sentences):
        pattern = patterns[(i * 3 + j) % len(patterns)]
        found.append(pattern.format(things[(i * 5 + j * 7) % 16], things[(i * 11 + j * 3 + i // 16) % 16]))
    return ("" if lang == "zh" else " ").join(found)


def lines(lang: str, n: int) -> list[bytes]:
    """Return the raw lines of one source: n documents, then what is wrong or related, strewn among them."""
    found: list[bytes] = []
    gap = "" if lang == "zh" else " "
    for i in range(n):
        body = text(lang, i)
        fields: dict[str, object] = {"source_record_id": f"r{i}", "title": f"{lang} {i}"}
        if i % 10 == 3:
            body += gap + PII[(i // 10) % len(PII)].format(i)
        if i % 25 == 7:
            body += gap + PROTECTED
        if i % 20 == 11:
            fields["group_id"] = f"g{i // 40}"
        if i % 30 == 17:
            fields["parent_ids"] = [f"r{i - 1}"]
        found.append(raw_line(body, **fields))
        if i % 12 == 5:
            found.append(raw_line(body.replace("\n", "\r\n") + "  \n\n"))  # equal after the matching normalisation
        if i % 15 == 8:
            found.append(raw_line(body + gap + {"en": "So it was.", "zh": "就是这样。", "hi": "बस इतना ही।"}[lang]))
        if i % 14 == 9:
            found.append(raw_line(text(lang, i, 1)))  # too few words
        if i % 9 == 4:
            found.append(BROKEN[(i // 9) % len(BROKEN)])
    return found


CONFIG = """\
stages = ["lang", "gopher", "repetition", "exact_dedup", "near_dedup", "decontaminate", "pii"]
shard_rows = 60
[lang]
keep = ["zh", "en", "hi"]
[gopher.zh]
min_n_words = 40
[decontaminate]
protected = ["eval/*.jsonl"]
"""


def fill(corpus: Corpus, n: int = 80, *, parts: int = 2, frames: int = 1) -> Corpus:
    """Write the made corpus into a project: three sources of about 1.3 n lines each, items to protect, the config."""
    for lang in PATTERNS:
        corpus.source(f"made-{lang}", lines(lang, n), parts=parts, frames=frames)
    (corpus.folder / "eval").mkdir(exist_ok=True)
    item = json.dumps({"id": "lighthouse-1", "text": PROTECTED})
    (corpus.folder / "eval" / "items.jsonl").write_text(item + "\n", encoding="utf-8")
    corpus.configure(CONFIG)
    return corpus
