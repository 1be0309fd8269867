"""From a language model's label to two letters of ISO 639-1, or `und`.

A label that ISO 639-3 counts to a macro-language with two letters gets those (yue, wuu -> zh; arz -> ar); every other
longer label is `und`. Nothing is guessed from a name or from kinship. Source: the code tables of ISO 639-1 and 639-3
with its macro-language mappings (SIL), as of 2026; two-letter codes that were withdrawn are not in them.
"""

from __future__ import annotations

UNDETERMINED = "und"

ISO_639_1 = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo
    es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg
    ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn
    no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta
    te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()
)

# The labels of lid.176 (Wikipedia's codes) that are not of ISO 639-1. `bh` (Bihari languages) and `sh` (Serbo-Croatian)
# were withdrawn: the first stands for several languages, the second for bs, hr or sr. `als` is Alemannic at Wikipedia,
# but Tosk Albanian in ISO 639-3; `nah` is a group of languages; `eml` is withdrawn from ISO 639-3.
LID_176 = {
    "als": "und",  # Alemannic
    "arz": "ar",  # Egyptian Arabic
    "ast": "und",  # Asturian
    "azb": "az",  # South Azerbaijani
    "bar": "und",  # Bavarian
    "bcl": "und",  # Central Bikol: macro-language bik has no two letters
    "bh": "und",  # Bihari languages
    "bpy": "und",  # Bishnupriya
    "bxr": "und",  # Russia Buriat: macro-language bua has no two letters
    "cbk": "und",  # Chavacano
    "ceb": "und",  # Cebuano
    "ckb": "ku",  # Central Kurdish
    "diq": "und",  # Dimli: macro-language zza has no two letters
    "dsb": "und",  # Lower Sorbian
    "dty": "ne",  # Dotyali
    "eml": "und",  # Emilian-Romagnol
    "frr": "und",  # Northern Frisian
    "gom": "und",  # Goan Konkani: macro-language kok has no two letters
    "hif": "und",  # Fiji Hindi
    "hsb": "und",  # Upper Sorbian
    "ilo": "und",  # Iloko
    "jbo": "und",  # Lojban
    "krc": "und",  # Karachay-Balkar
    "lez": "und",  # Lezghian
    "lmo": "und",  # Lombard
    "lrc": "und",  # Northern Luri
    "mai": "und",  # Maithili
    "mhr": "und",  # Eastern Mari: macro-language chm has no two letters
    "min": "ms",  # Minangkabau
    "mrj": "und",  # Western Mari: macro-language chm has no two letters
    "mwl": "und",  # Mirandese
    "myv": "und",  # Erzya
    "mzn": "und",  # Mazanderani
    "nah": "und",  # Nahuatl languages
    "nap": "und",  # Neapolitan
    "nds": "und",  # Low German
    "new": "und",  # Newari
    "pam": "und",  # Pampanga
    "pfl": "und",  # Palatine German
    "pms": "und",  # Piemontese
    "pnb": "und",  # Western Panjabi: macro-language lah has no two letters
    "rue": "und",  # Rusyn
    "sah": "und",  # Yakut
    "scn": "und",  # Sicilian
    "sco": "und",  # Scots
    "sh": "und",  # Serbo-Croatian
    "tyv": "und",  # Tuvinian
    "vec": "und",  # Venetian
    "vep": "und",  # Veps
    "vls": "und",  # Western Flemish
    "war": "und",  # Waray
    "wuu": "zh",  # Wu Chinese
    "xal": "und",  # Kalmyk
    "xmf": "und",  # Mingrelian
    "yue": "zh",  # Yue Chinese
}

# ISO 639-3: the three-letter form of each two-letter code, where the two stand for one thing
THREE_LETTERS = dict(
    pair.split(":")
    for pair in """
    aar:aa abk:ab ave:ae afr:af aka:ak amh:am arg:an ara:ar asm:as ava:av aym:ay aze:az bak:ba bel:be bul:bg bis:bi
    bam:bm ben:bn bod:bo bre:br bos:bs cat:ca che:ce cha:ch cos:co cre:cr ces:cs chu:cu chv:cv cym:cy dan:da deu:de
    div:dv dzo:dz ewe:ee ell:el eng:en epo:eo spa:es est:et eus:eu fas:fa ful:ff fin:fi fij:fj fao:fo fra:fr fry:fy
    gle:ga gla:gd glg:gl grn:gn guj:gu glv:gv hau:ha heb:he hin:hi hmo:ho hrv:hr hat:ht hun:hu hye:hy her:hz ina:ia
    ind:id ile:ie ibo:ig iii:ii ipk:ik ido:io isl:is ita:it iku:iu jpn:ja jav:jv kat:ka kon:kg kik:ki kua:kj kaz:kk
    kal:kl khm:km kan:kn kor:ko kau:kr kas:ks kur:ku kom:kv cor:kw kir:ky lat:la ltz:lb lug:lg lim:li lin:ln lao:lo
    lit:lt lub:lu lav:lv mlg:mg mah:mh mri:mi mkd:mk mal:ml mon:mn mar:mr msa:ms mlt:mt mya:my nau:na nob:nb nde:nd
    nep:ne ndo:ng nld:nl nno:nn nor:no nbl:nr nav:nv nya:ny oci:oc oji:oj orm:om ori:or oss:os pan:pa pli:pi pol:pl
    pus:ps por:pt que:qu roh:rm run:rn ron:ro rus:ru kin:rw san:sa srd:sc snd:sd sme:se sag:sg sin:si slk:sk slv:sl
    smo:sm sna:sn som:so sqi:sq srp:sr ssw:ss sot:st sun:su swe:sv swa:sw tam:ta tel:te tgk:tg tha:th tir:ti tuk:tk
    tgl:tl tsn:tn ton:to tur:tr tso:ts tat:tt twi:tw tah:ty uig:ug ukr:uk urd:ur uzb:uz ven:ve vie:vi vol:vo wln:wa
    wol:wo xho:xh yid:yi yor:yo zha:za zho:zh zul:zu
    """.split()
)

# ISO 639-3: members of the macro-languages that have two letters (members with two letters of their own keep those)
_MEMBERS = {
    "ak": "fat",
    "ar": "aao abh abv acm acq acw acx acy adf aeb aec afb ajp apc apd arb arq ars ary arz auz avl ayh ayl ayn ayp pga "
    "shu ssh",
    "ay": "ayc ayr",
    "az": "azb azj",
    "cr": "crj crk crl crm csw cwd",
    "et": "ekk vro",
    "fa": "pes prs",
    "ff": "ffm fub fuc fue fuf fuh fui fuq fuv",
    "gn": "gnw gug gui gun nhd",
    "ik": "esi esk",
    "iu": "ike ikt",
    "kg": "kng kwy ldi",
    "kr": "kby knc krt",
    "ku": "ckb kmr sdh",
    "kv": "koi kpv",
    "lv": "ltg lvs",
    "mg": "bhr bmm bzc msh plt skg tdx tkg txy xmv xmw",
    "mn": "khk mvf",
    "ms": "bjn btj bve bvu coa dup hji jak jax kvb kvr kxd lce lcf liw max meo mfa mfb min mqg msi mui orn ors pel pse "
    "tmw urk vkk vkt xmm zlm zmi zsm",
    "ne": "dty npi",
    "oj": "ciw ojb ojc ojg ojs ojw otw",
    "om": "gax gaz hae orc",
    "or": "ory spv",
    "ps": "pbt pbu pst",
    "qu": "cqu qub qud quf qug quh quk qul qup qur qus quw qux quy quz qva qvc qve qvh qvi qvj qvl qvm qvn qvo qvp qvs "
    "qvw qvz qwa qwc qwh qws qxa qxc qxh qxl qxn qxo qxp qxr qxt qxu qxw",
    "sa": "cls vsn",
    "sc": "sdc sdn src sro",
    "sq": "aae aat aln als",
    "sw": "swc swh",
    "uz": "uzn uzs",
    "yi": "ydd yih",
    "za": "ccx ccy zch zeh zgb zgm zgn zhd zhn zlj zln zlq zqe zyb zyg zyj zyn zzj",
    "zh": "cdo cjy cmn cnp cpx csp czh czo gan hak hnm hsn luh lzh mnp nan sjc wuu yue",
}
_MACRO_LANGUAGE = {member: macro for macro, members in _MEMBERS.items() for member in members.split()}
# withdrawn for another code of the same language
_RENAMED = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro"}


def two_letters(label: str) -> str:
    """Return the ISO 639-1 code of a model's label, or `und`.

    A label is a code, with or without a script or region after `_` or `-` (`zh`, `yue`, `zho_Hans`, `zh-TW`). A bare
    code is read as lid.176 means it, one with a suffix as ISO 639-3 does; only `als` differs (see LID_176).
    """
    code, *suffix = label.replace("-", "_").split("_")
    code = code.lower()
    if not suffix and code in LID_176:
        return LID_176[code]
    if code in ISO_639_1:
        return code
    return THREE_LETTERS.get(code) or _MACRO_LANGUAGE.get(code) or _RENAMED.get(code) or UNDETERMINED


# ISO 639-2: the bibliographic codes that differ from those of ISO 639-3
_BIBLIOGRAPHIC = dict(
    pair.split(":")
    for pair in """
    alb:sq arm:hy baq:eu bur:my chi:zh cze:cs dut:nl fre:fr geo:ka ger:de gre:el ice:is mac:mk mao:mi may:ms per:fa
    rum:ro slo:sk tib:bo wel:cy
    """.split()
)
# countries whose language is written with other letters, where these are no language
_COUNTRIES = dict(
    pair.split(":") for pair in "cn:zh cz:cs dk:da gr:el jp:ja kp:ko kr:ko tw:zh ua:uk us:en vn:vi".split()
)


def meant(code: str) -> str:
    """Return the code of ISO 639-1 that somebody meant who wrote another one, or an empty string: eng, zh-CN, jp."""
    short = code.strip().lower().replace("_", "-").partition("-")[0]
    found = _BIBLIOGRAPHIC.get(short) or _COUNTRIES.get(short) or two_letters(short)
    return "" if found == UNDETERMINED else found
