"""Countries by the names that callers use."""

from __future__ import annotations

_SAME = (
    ("United States", "United States of America", "America", "US", "USA", "States"),
    ("United Kingdom", "UK", "Great Britain", "Britain", "England"),
    ("Netherlands", "Holland"),
    ("Czech Republic", "Czechia"),
    ("United Arab Emirates", "Emirates", "Dubai"),
)

_OTHERS = """
Afghanistan, Albania, Algeria, Argentina, Armenia, Australia, Austria, Azerbaijan, Bahamas, Bahrain,
Bangladesh, Belarus, Belgium, Bolivia, Bosnia, Botswana, Brazil, Bulgaria, Cambodia, Cameroon, Canada, Chile,
China, Colombia, Costa Rica, Croatia, Cuba, Cyprus, Denmark, Dominican Republic, Ecuador, Egypt, El Salvador,
Estonia, Ethiopia, Fiji, Finland, France, Germany, Ghana, Greece, Guatemala, Honduras, Hong Kong, Hungary,
Iceland, India, Indonesia, Iran, Iraq, Ireland, Israel, Italy, Jamaica, Japan, Jordan, Kazakhstan, Kenya,
Kuwait, Latvia, Lebanon, Libya, Lithuania, Luxembourg, Madagascar, Malaysia, Malta, Mexico, Moldova, Monaco,
Mongolia, Montenegro, Morocco, Mozambique, Namibia, Nepal, New Zealand, Nicaragua, Nigeria, Norway, Oman,
Pakistan, Panama, Paraguay, Peru, Philippines, Poland, Portugal, Qatar, Romania, Russia, Rwanda, Saudi Arabia,
Scotland, Senegal, Serbia, Singapore, Slovakia, Slovenia, Somalia, South Africa, South Korea, Korea, Spain,
Sri Lanka, Sudan, Sweden, Switzerland, Syria, Taiwan, Tanzania, Thailand, Tunisia, Turkey, Uganda, Ukraine,
Uruguay, Uzbekistan, Venezuela, Vietnam, Wales, Yemen, Zambia, Zimbabwe
"""

COUNTRIES = tuple(
    sorted(
        {name for names in _SAME for name in names} | {name.strip() for name in _OTHERS.replace("\n", " ").split(",")},
        key=len,
        reverse=True,
    )
)
"""Names of countries, longest first."""


def same_country(one: str, two: str) -> bool:
    """Return whether two names mean the same country."""
    first, second = one.lower(), two.lower()
    return first == second or any({first, second} <= {name.lower() for name in names} for names in _SAME)
